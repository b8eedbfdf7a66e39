// A clinic's appointments: visits of a day, those that were called off, the waiting list, and the practice's settings.
"use strict";

const TIMES = ["8:30", "9:00", "9:30", "10:00", "10:30", "11:00", "14:00", "14:30", "15:00", "15:30"];
const REMINDERS = ["never", "one day before", "two days before", "a week before"];
let showsCancelled = false;

function reschedule(visit) {
  const time = choice("Begins at", TIMES, visit.time);
  dialog("Reschedule", [make("p", {}, visit.who), time.line], "Move", () => {
    visit.time = time.value();
    keep("Moved.");
  });
}

function actions(visit) {
  const cancelled = { name: "Reinstate", act: () => { visit.status = "booked"; keep("Reinstated."); } };
  const booked = [
    { name: "Reschedule…", act: () => reschedule(visit) },
    { name: "Cancel visit", act: () => { visit.status = "cancelled"; keep("Cancelled."); } },
  ];
  return menu("Actions", visit.status === "cancelled" ? [cancelled] : booked, "⋯");
}

function practice() {
  const { settings } = state;
  const length = choice("Minutes for a visit", ["10", "15", "20", "30"], settings.length);
  const saturday = tick("Open on Saturdays", settings.saturday);
  const reminder = choice("Reminder", REMINDERS, settings.reminder);
  const channel = choice("Goes out by", ["letter", "text message", "e-mail"], settings.channel);
  const sheets = tabs("Practice", [["General", length.line, saturday.line], ["Messages", reminder.line, channel.line]]);
  dialog("Practice", [sheets], "Save", () => {
    settings.length = length.value();
    settings.saturday = saturday.value();
    settings.reminder = reminder.value();
    settings.channel = channel.value();
    keep("Saved.");
  });
}

function waiting() {
  const rows = state.waiting.map((entry) => [entry.who, entry.urgency, menu("Urgency of " + entry.who, [
    "routine", "soon", "urgent",
  ].map((name) => ({ name, act: () => { entry.urgency = name; keep("Noted."); } })), "▾")]);
  return make("details", {}, make("summary", {}, "Waiting list"), table(["Patient", "Urgency", ""], rows));
}

function draw() {
  const header = document.querySelector("header");
  header.querySelectorAll(".menu, .practice").forEach((old) => old.remove());
  header.append(menu("View", [
    { name: "Show cancelled", checked: showsCancelled, act: () => { showsCancelled = !showsCancelled; draw(); } },
  ]), make("button", { class: "practice", onclick: practice }, "Practice"));
  const shown = state.visits.filter((visit) => showsCancelled || visit.status !== "cancelled");
  const rows = shown.map((visit) => [visit.time, visit.who, visit.status, actions(visit)]);
  main.replaceChildren(table(["Time", "Patient", "Status", ""], rows), waiting());
}

draw();
