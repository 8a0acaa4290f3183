"""A table whose header, cells and file name try to get markup into the report."""

PAYLOADS = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=2</script>",
    "<img src=x onerror=window.hacked=3>",
    '" onmouseover="window.hacked=4" x="',
    "' autofocus onfocus='window.hacked=5",
    "<!--<script>",
    "]]><svg/onload=window.hacked=6>",
    '<a href="javascript:window.hacked=7">click</a>',
    "{{ 7*7 }}{% raw %}",
    "%{x}<b>bold</b>$x$\u2028\u202e",
    "</style><style>*{display:none}",
    "</title><h1>owned",
]


def write_table(folder):
    """A CSV with the payloads as names, in cells and, as far as file systems allow, as its own name."""
    import csv

    import numpy as np

    path = folder / "<img src=x onerror=window.hacked=8>.csv"
    random = np.random.default_rng(0)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*PAYLOADS, "<u>constant</u>", "<u>text</u>"])
        for row in random.normal(size=(60, len(PAYLOADS))) + np.repeat([[0.0], [9.0]], 30, axis=0):
            writer.writerow([*row.round(3), 5, PAYLOADS[0]])
    return path
