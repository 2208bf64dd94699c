# SPDX-License-Identifier: Apache-2.0
"""The plans of cubins/sync as its tests want them: by the names in expected.json, those with line information too."""
import collections
import glob
import json
import os
import shutil
import tarfile

# The plan, the architecture to run it for, a cubin of the same words that has line information, whether it is one of the
# patterns over CUDA's headers, and of those, whether it is left to --all: nearly what the headers make for another architecture.
Sync = collections.namedtuple("Sync", "plan arch lines library alike")
DISTINCT = ("sm_80", "sm_90")


def sync_plans(root, work):
    """name -> Sync. The cubins with line information come out of their archives into `work`, beside copies of the plans."""
    folder = os.path.join(root, "cubins", "sync")
    for archive in glob.glob(os.path.join(folder, "line.*.tar.xz")):
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                path = os.path.join(work, member.name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as f:
                    f.write(tar.extractfile(member).read())
    found = {}
    for plan in glob.glob(os.path.join(folder, "*", "*.json")):
        pattern, variant = os.path.relpath(plan, folder)[:-len(".json")].split(os.sep)
        twin = os.path.join(work, pattern, variant + ".json")
        os.makedirs(os.path.dirname(twin), exist_ok=True)
        shutil.copy(plan, twin)
        with open(plan) as f:
            content = json.load(f)
        for arch in content["arch"]:
            name = "%s/%s.%s" % (pattern, variant, arch)
            lines = os.path.join(os.path.dirname(twin), content["module"].replace("{arch}", arch))
            library = content["module"].startswith("..")
            alike = library and arch not in DISTINCT
            found[name] = Sync(plan, arch, lines, library, alike)
            found[name + ".line"] = Sync(twin, arch, lines, library, alike)
    return found
