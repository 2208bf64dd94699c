# SPDX-License-Identifier: Apache-2.0
"""What sassemu offers to Python programs: `sassemu.trace` reads traces."""
