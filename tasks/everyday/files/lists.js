// A manager of a mailing list: subscribers and how they get mail, adding several, policies, and the closing lines.
"use strict";

let shown = null;
let isWriting = false;

function subscription(member) {
  const ways = ["each message", "daily digest", "no mail"].map((way) => {
    const radio = make("input", { type: "radio", name: "way", value: way, checked: way === member.delivery });
    return make("p", {}, make("label", {}, radio, " " + way));
  });
  const update = () => {
    member.delivery = document.querySelector("input[name=way]:checked").value;
    keep("Updated.");
  };
  return make("section", { "aria-label": member.mail }, make("h2", {}, member.mail),
    make("details", {}, make("summary", {}, "Delivery"), ...ways, make("button", { onclick: update }, "Update")),
    make("details", {}, make("summary", {}, "History"), make("p", {}, "Subscribed this spring.")));
}

function add() {
  const one = field("Address");
  const area = make("textarea", { rows: "4", "aria-label": "Addresses, one a line" });
  const many = make("p", { hidden: true }, area);
  const switchOver = make("button", { onclick: () => { many.hidden = false; one.line.hidden = true; } }, "Several at once");
  dialog("Add", [one.line, many, make("p", {}, switchOver)], "Subscribe", () => {
    const text = many.hidden ? one.value() : area.value;
    const mails = text.split("\n").map((line) => line.trim()).filter((line) => line);
    if (mails.length === 0 || mails.some((mail) => !/^[^\s@,;]+@[^\s@,;]+$/.test(mail))) {
      document.querySelector("[role=status]").textContent = "That is no address.";
      return false;
    }
    mails.forEach((mail) => state.members.push({ mail, delivery: "each message" }));
    keep("Subscribed.");
    return true;
  });
}

function policies() {
  const { policies } = state;
  const outsiders = choice("Mail from outsiders", ["deliver", "hold", "refuse"], policies.outsiders);
  const archive = choice("Archive", ["public", "subscribers", "none"], policies.archive);
  const size = choice("Largest attachment", ["none", "1 MB", "5 MB", "20 MB"], policies.size);
  const sheets = tabs("Policies", [["Posting", outsiders.line, size.line], ["Reading", archive.line]]);
  dialog("Policies", [sheets], "Keep", () => {
    policies.outsiders = outsiders.value();
    policies.archive = archive.value();
    policies.size = size.value();
    keep("Kept.");
  });
}

function closing() {
  if (!isWriting) {
    const edit = make("button", { "aria-label": "Change", onclick: () => { isWriting = true; draw(); } }, "✎");
    return make("footer", {}, make("p", {}, state.footer || "(nothing below messages)", " ", edit));
  }
  const area = make("textarea", { rows: "3", "aria-label": "Below each message; Ctrl+Enter ends" });
  area.value = state.footer;
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.ctrlKey) return;
    isWriting = false;
    state.footer = area.value.trim();
    keep("Changed.");
  });
  return make("footer", {}, area);
}

function draw() {
  const header = document.querySelector("header");
  header.querySelectorAll(".menu, .add").forEach((old) => old.remove());
  header.append(make("button", { class: "add", onclick: add }, "Add"), menu("List", [
    { name: "Policies…", act: policies },
    { name: "Statistics", act: () => {} },
  ], "☰"));
  const open = (member) => { shown = member.mail; draw(); };
  const entries = state.members.map((member) =>
    make("li", {}, make("button", { onclick: () => open(member) }, member.mail), " " + member.delivery));
  const member = state.members.find((member) => member.mail === shown);
  main.replaceChildren(make("ul", {}, ...entries), ...(member ? [subscription(member)] : []), closing());
}

draw();
