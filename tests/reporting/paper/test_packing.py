import base64
import gzip
import hashlib
import re
from importlib import resources

from unveil.reporting.paper.packing import digest, library, page_script


def test_the_vendored_library_is_the_one_that_its_readme_names():
    code = gzip.decompress(base64.b64decode(library().text))
    folder = resources.files("unveil.reporting.paper").joinpath("vendor")
    readme = folder.joinpath("README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(code).hexdigest() in readme
    version = re.search(rb"plotly.js \(cartesian - minified\) v([0-9.]+)", code).group(1).decode()
    assert f"| {version} |" in readme
    assert "Plotly" in folder.joinpath("LICENSE-plotly.txt").read_text(encoding="utf-8")
    assert library().digest == digest(code)


def test_the_script_of_the_page_can_stand_in_its_element():
    script = page_script()
    assert not re.search("</script|<!--|\r", script)
    assert "eval(" not in script
    assert "innerHTML" not in script
