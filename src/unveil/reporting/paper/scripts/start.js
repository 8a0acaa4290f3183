// What the page does once it is there.

startContents();
document.querySelectorAll(".table").forEach(startTable);
document.querySelectorAll(".listing").forEach(startListing);
startGlosses();
document.querySelectorAll(".columns").forEach(startChoices);
document.querySelectorAll(".replay").forEach(startReplay);
window.addEventListener("hashchange", reveal);
reveal();
startFigures();
