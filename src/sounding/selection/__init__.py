"""Choose which document to judge next: one protocol, all strategies, minimal test collections.

Importing a family of strategies registers it; all strategies of this package are registered here.
"""

from sounding.selection import orders, samples  # noqa: F401 - they register their strategies
from sounding.selection.mtc import session  # noqa: F401 - so does this
