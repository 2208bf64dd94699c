# SPDX-License-Identifier: Apache-2.0
"""What of a disassembler's listing is compared. Nothing else belongs here."""
import re


def code_of(listing):
    """The lines with instructions; labels are numbered otherwise from release to release, and from 13.5 on what ptxas spilled is remarked."""
    lines = (line for line in listing.splitlines() if re.match(r"\s*/\*[0-9a-f]{4,}\*/", line))
    return [re.sub(r'\.L_x_\d+', ".L_x", re.sub(r'\s*\(\*"SpillRefill"\*\);$', " ;", line)) for line in lines]
