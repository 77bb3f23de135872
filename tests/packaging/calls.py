"""A program that runs command lines in one process, and prints what each gave."""

# Before it come the imports of contextlib, io, json and sys; its second argument is the list of lines.
CALLS = """
from sounding.cli import main

outcomes = []
for line in json.loads(sys.argv[2]):
    out, err, status = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(line.split())
        except SystemExit as left:
            status = left.code or 0
    out.flush()
    outcomes.append((line, status, out.buffer.getvalue().decode(), err.getvalue()))
print(json.dumps(outcomes))
"""
