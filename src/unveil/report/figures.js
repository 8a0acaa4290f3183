// Draws every figure of the page from the JSON beside it, in the colours of the reader's scheme.
(function () {
  "use strict";
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var narrow = window.matchMedia("(max-width: 560px)");
  var printed = window.matchMedia("print");
  var config = { responsive: true, displaylogo: false, displayModeBar: false, scrollZoom: false };

  // Colours of unveil.plot.style that need a counterpart on dark paper: ink, first colour, halo.
  var inks = [["#3A4450", "#D5DBE3"], ["#0072B2", "#3491DB"], ["rgba(246, 248, 250, 0.82)", "rgba(28, 34, 41, 0.82)"]];

  function read(node) {
    var text = document.getElementById(node.id.replace("plot-", "data-")).textContent;
    if (dark.matches && !printed.matches) {
      inks.forEach(function (pair) { text = text.split(pair[0]).join(pair[1]); });
    }
    return JSON.parse(text);
  }

  function draw(node) {
    var figure = read(node);
    if (narrow.matches) {
      figure.layout.height = 380;
      figure.layout.font.size = 11;
      figure.layout.margin = { l: 48, r: 8, t: 16, b: 48 };
    }
    window.Plotly.react(node, figure.data, figure.layout, config);
  }

  function drawAll() {
    Array.prototype.forEach.call(document.querySelectorAll(".plot"), draw);
  }

  drawAll();
  [dark, narrow, printed].forEach(function (query) {
    query.addEventListener("change", drawAll);
  });
})();
