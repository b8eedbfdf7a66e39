// A parcel desk: parcels that wait, were collected or went back, handing out by number, and how labels are printed.
"use strict";

let status = "waiting";
let opened = null;

function keepLonger(parcel) {
  const day = choice("Stays until", ["Friday", "Saturday", "Monday", "Wednesday", "Thursday"], parcel.until);
  dialog("Keep longer", [day.line], "Note it", () => {
    parcel.until = day.value();
    keep("Noted.");
  });
}

function details(parcel) {
  const back = () => { parcel.status = "waiting"; keep("It waits again."); };
  const buttons = parcel.status === "waiting"
    ? [make("button", { onclick: () => keepLonger(parcel) }, "Keep longer"),
      make("button", { onclick: () => { parcel.status = "returned"; keep("Returned."); } }, "Return to sender")]
    : [make("button", { onclick: back }, "Put back on the shelf")];
  return make("section", { "aria-label": parcel.number }, make("h2", {}, parcel.number),
    make("p", {}, `For ${parcel.who}, until ${parcel.until}.`), ...buttons);
}

// Handing out begins with the number, as a scanner would type it.
function handOut(number) {
  const parcel = state.parcels.find((parcel) => parcel.number === number && parcel.status === "waiting");
  if (!parcel) {
    document.querySelector("[role=status]").textContent = "No parcel of this number waits.";
    return;
  }
  const proof = choice("Proof", ["none", "identity card", "pickup code"], "none");
  dialog("Hand out " + number, [make("p", {}, parcel.who), proof.line], "Hand out", () => {
    parcel.status = "collected";
    parcel.proof = proof.value();
    keep("Handed out.");
  });
}

function labels() {
  const { labels } = state;
  const paper = choice("Paper", ["A4", "A6", "roll"], labels.paper);
  const copies = choice("Copies", ["1", "2", "3"], labels.copies);
  const barcode = tick("Bar code", labels.barcode);
  dialog("Label setup", [paper.line, copies.line, barcode.line], "OK", () => {
    labels.paper = paper.value();
    labels.copies = copies.value();
    labels.barcode = barcode.value();
    keep("Set.");
  });
}

function draw() {
  const header = document.querySelector("header");
  header.querySelectorAll(".menu, label").forEach((old) => old.remove());
  const scan = make("input", { size: "8", "aria-label": "Number", autocomplete: "off" });
  scan.addEventListener("keydown", (event) => { if (event.key === "Enter") handOut(scan.value.trim()); });
  header.append(make("label", {}, scan), menu("Print", [
    { name: "Today's list", act: () => {} },
    { name: "Label setup…", act: labels },
  ]));
  const filter = choice("Show", ["waiting", "collected", "returned"], status);
  filter.line.addEventListener("change", () => { status = filter.value(); opened = null; draw(); });
  const shown = state.parcels.filter((parcel) => parcel.status === status);
  const open = (parcel) => { opened = parcel.number; draw(); };
  const rows = shown.map((parcel) =>
    [parcel.number, parcel.who, parcel.until, make("button", { onclick: () => open(parcel) }, "Details")]);
  const parcel = shown.find((parcel) => parcel.number === opened);
  main.replaceChildren(filter.line, table(["Number", "For", "Until", ""], rows), ...(parcel ? [details(parcel)] : []));
}

draw();
