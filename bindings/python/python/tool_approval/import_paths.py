"""A warning about directories from which this program imports modules and that tools can change."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable

__all__ = ["warn_about_import_paths"]

_log = logging.getLogger("tool_approval")

_warned: set[str] = set()


def warn_about_import_paths(is_writable: Callable[[str], bool]) -> None:
    """Warn once about each directory of `sys.path` in which tools can create modules.

    This program would run such a module outside of the sandbox when it imports something for the
    first time: a file `json.py` next to the main program takes the place of the standard library.

    Args:
        is_writable: Returns whether tools can create files in a directory, which is a real path.
    """
    for entry in sys.path:
        directory = os.path.realpath(entry or os.curdir)
        if directory not in _warned and os.path.isdir(directory) and is_writable(directory):
            _warned.add(directory)
            _log.warning(
                "tools can write in `%s`, from which this program imports modules: "
                "use a narrower directory, or run the program from another one",
                directory,
            )
