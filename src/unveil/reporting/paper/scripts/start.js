// What the page does once it is there.

startContents();
document.querySelectorAll(".table").forEach(startTable);
document.querySelectorAll(".listing").forEach(startListing);
startGlosses();
document.querySelectorAll(".columns").forEach(startChoices);
document.querySelectorAll(".replay").forEach(startReplay);
document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", () => startScrollers(fold)));
new ResizeObserver(() => startScrollers(document)).observe(document.body);
startScrollers(document);
window.addEventListener("hashchange", reveal);
reveal();
startFigures();
