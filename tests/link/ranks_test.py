#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans run by several processes: results, refusals, deadlocks across ranks, and ranks that are killed.

    ranks_test.py SASSEMU ROOT [--runs N] [--seed N] [--only PART...]

--runs N: so many runs of which one rank is killed at a random moment (10; a release asks for 200). The other has to
end by itself, and say who is missing. They share memory, or go by messages through Unix sockets and TCP, or under a model, in turns.
"""
import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

LONGEST = 500  # seconds until a rank is taken for one that hangs: no rank has a reason to, however busy the machine
failures = 0


def check(good, what):
    global failures
    if not good:
        failures += 1
        print("FAILED:", what)


def free_ports(count):
    """Ports that nobody has at present."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def start(args, folder, plan, rank, ranks=2, more=(), ports=None):
    peers = ",".join(f"tcp:127.0.0.1:{ports[n]}" if ports else f"unix:{folder}/{n}" for n in range(ranks))
    return subprocess.Popen([args.program, "run", "--ranks", plan, "--rank", str(rank), "--peer", peers, *more],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process, what):
    """Exit code and output; a rank that hangs is a failure, and ended."""
    try:
        return process.communicate(timeout=LONGEST)[0], process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        check(False, what + " hangs")
        return process.communicate()[0], -1


def run_all(args, plan, ranks, more=(), tcp=False):
    with tempfile.TemporaryDirectory() as folder:
        ports = free_ports(ranks) if tcp else None
        all_of_them = [start(args, folder, plan, rank, ranks, more, ports) for rank in range(ranks)]
        return [ended(process, f"rank {rank} of {plan}") for rank, process in enumerate(all_of_them)]


# How ranks reach each other's memory: options, and whether by TCP.
FAR_PLANS = ("atomics", "atomics128", "bulk_copy", "byte_short", "cta_handshake", "half2", "int128",
             "vecadd", "warp_spin_lock")
WAYS = {"shared": ((), False), "messages": (("--messages",), False), "TCP": ((), True),
        "model": (("--model", "caches", "--seed", "3"), False), "weak": (("--model", "weak", "--seed", "3"), False)}


def write_plan(args, folder, name, plan):
    """Without a limit of time: see LONGEST."""
    plan["module"] = os.path.join(os.path.abspath(args.root), "cubins/flight/sm_90.cubin")
    path = os.path.join(folder, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"arch": "sm_90", **plan}, file)
    return path


def relay(players, laps, expect=True):
    """Each GPU hands a ball on that lies with the host of rank 0, and changes a message that lies on GPU 0."""
    words = []
    for lane in range(32):
        word = 0
        for step in range(players * laps if expect else 0):
            word = (word * 33 + step % players + 1) & 0xffffffff
        words.append(word)
    message = {"bytes": 128}
    if expect:
        message["expect"] = {"type": "u32", "values": words}
    return {"gpus": players, "peers": True, "buffers": {"ball": {"bytes": 4, "kind": "host"}, "message": message},
            "launches": [{"kernel": "relay", "gpu": gpu, "grid": [1], "block": [32],
                          "args": [{"buffer": "ball"}, {"buffer": "message"}, {"i32": gpu}, {"i32": players},
                                   {"i32": laps}]} for gpu in range(players)]}


def results(args, folder):
    two = os.path.join(args.root, "cubins/flight/two_gpus.json")
    (first, code), (second, other) = run_all(args, two, 2)
    check(code == 0 and "message: 32 u32 elements equal" in first, first)
    check(other == 0 and ", rank 1 of 2\n" in second and "launches of other ranks: 1" in second, second)
    for ranks, gpus in ((2, 4), (3, 4)):
        for how, (more, tcp) in WAYS.items():
            for output, code in run_all(args, write_plan(args, folder, "relay", relay(gpus, 6)), ranks, more, tcp):
                check(code == 0, f"{ranks} ranks, {gpus} GPUs, {how}: {output}")


def absolute(value, base):
    """The same with the names of files as they are seen from anywhere."""
    if isinstance(value, dict):
        return {key: os.path.join(base, one) if key in ("file", "module") and isinstance(one, str) else absolute(one, base)
                for key, one in value.items()}
    return [absolute(one, base) for one in value] if isinstance(value, list) else value


def elsewhere(args, folder):
    """Plans of one GPU whose memory is all another rank's: every load, store, atomic and copy is a message."""
    for name in FAR_PLANS:
        base = os.path.join(os.path.abspath(args.root), "cubins", name)
        with open(os.path.join(base, "plan.json"), encoding="utf-8") as file:
            plan = absolute(json.load(file), base)
        plan.pop("timeLimit", None)  # is for a process that has all memory
        plan.update({"gpus": 2, "peers": True, "arch": "sm_90"})
        for buffer in plan["buffers"].values():
            buffer["gpu"] = 1
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        (first, code), (second, other) = run_all(args, path, 2, ("--messages",), name == FAR_PLANS[0])
        check(code == 0 and other == 0 and " equal\n" in second, f"{name}: {code} {other} {first} {second}")


def multicast(args, folder):
    """Multicast objects whose members lie with other ranks, also where no GPU has access to another's memory."""
    for name in ("all_reduce", "take_sum"):
        base = os.path.join(os.path.abspath(args.root), "cubins", "multimem")
        with open(os.path.join(base, name + ".json"), encoding="utf-8") as file:
            plan = absolute(json.load(file), base)
        for key in ("timeLimit", "condition", "verdict"):
            plan.pop(key, None)
        plan["arch"], plan["module"] = "sm_90", os.path.join(base, "sm_90.cubin")
        path = os.path.join(folder, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(plan, file)
        for how, (more, tcp) in WAYS.items():
            for rank, (output, code) in enumerate(run_all(args, path, 2, more, tcp)):
                check(code == 0, f"{name}, {how}, rank {rank}: {code} {output}")


def keys(args, folder):
    """What opens a link to other hosts, here over loopback: a key that all have, certificates of one authority."""
    two = os.path.join(args.root, "cubins/flight/two_gpus.json")
    names = {}
    for name, mode, text in (("key", 0o600, "sixteen bytes and more"), ("open", 0o644, "sixteen bytes and more"), ("short", 0o600, "short")):
        names[name] = os.path.join(folder, name)
        with open(names[name], "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(names[name], mode)
    for output, code in run_all(args, two, 2, ("--key", names["key"]), True):
        check(code == 0, output)
    for more, line in ((("--key", names["open"]), "others than its owner can read the link's key"), (("--key", names["short"]), "a key of the link has 16"),
                       (("--key", names["key"] + "x"), "cannot be read"), (("--cert", names["key"]), "--cert: a certificate and the authority"),
                       (("--ca", names["key"]), "--ca: a certificate and the authority"),
                       (("--cert", names["key"], "--ca", names["key"]), "the certificate's key is missing"),
                       (("--cert", names["key"], "--ca", names["key"], "--key", names["key"]), "cannot be used")):
        for output, code in run_all(args, two, 2, more, True):
            check(code == 2 and line in output and output.count("\n") == 1, f"{more}: {code} {output}")
    make = ("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x -keyout ca.key -out ca.pem && "
            "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=a -keyout a.key -out a.csr && "
            "openssl x509 -req -days 2 -in a.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out a.pem")
    if subprocess.run(["sh", "-c", make], cwd=folder, capture_output=True, check=False).returncode:
        print("no openssl: certificates are not tried")
        return
    of = [text for option, name in (("--cert", "a.pem"), ("--key", "a.key"), ("--ca", "ca.pem")) for text in (option, os.path.join(folder, name))]
    for output, code in run_all(args, two, 2, of, True):
        check(code == 0, output)


def refusals(args, folder):
    two = os.path.join(args.root, "cubins/flight/two_gpus.json")
    plan = write_plan(args, folder, "one", {**relay(1, 1), "gpus": 1})
    event = relay(2, 1)
    event["launches"][0]["event"] = "e"
    event["launches"][1]["after"] = ["e"]
    for more, line in ((["--deterministic"], "--deterministic: is one logical scheduler, and several ranks have one each"),
                       (["--model", "delay"], "--ranks: the model 'delay' holds back accesses of its own process only"),
                       (["--plugin", "check-mem"], "--ranks: 'check-mem' sees one process"),
                       (["--sandbox"], "--sandbox: the ranks of a plan open sockets")):
        for output, code in run_all(args, two, 2, more):
            check(line in output and code in (2, 5) and output.count("\n") == 1, f"{more}: {code} {output}")
    for path, ranks, line in ((two, 3, "3 ranks for the plan's 2 GPUs"), (plan, 2, "2 ranks for the plan's 1 GPU"),
                              (write_plan(args, folder, "event", event), 2, "event 'e' is of another rank")):
        for output, _ in run_all(args, path, ranks):
            check(line in output, f"{line}: {output}")
    alone = subprocess.run([args.program, "run", "--ranks", two], capture_output=True, text=True, check=False)
    check(alone.returncode == 2 and "there is no launcher" in alone.stderr, alone.stderr)
    far = subprocess.run([args.program, "run", "--ranks", two, "--rank", "0", "--peer",
                          "tcp:192.0.2.1:1,tcp:192.0.2.2:1"], capture_output=True, text=True, check=False)
    check("need TLS with mutual authentication; a key that all ranks have (--key FILE)" in far.stderr and far.returncode == 2, far.stderr)
    with tempfile.TemporaryDirectory() as sockets:  # the same rank twice; the others are as they were
        first = start(args, sockets, two, 0)
        while not os.path.exists(sockets + "/0"):
            time.sleep(0.01)
        output, code = ended(start(args, sockets, two, 0), "the second rank 0")
        check(code == 2 and "two processes have rank 0" in output, output)
        other = start(args, sockets, two, 1)
        check(ended(first, "rank 0")[1] == 0 and ended(other, "rank 1")[1] == 0, "the first rank 0 and rank 1")
    with tempfile.TemporaryDirectory() as sockets:
        one = start(args, sockets, two, 0)
        output, code = ended(start(args, sockets, write_plan(args, folder, "other", relay(2, 1)), 1), "another plan")
        check(code == 2 and "runs another plan" in output, output)
        one.kill()
        one.communicate()


def deadlock(args, folder):
    plan = {"gpus": 2, "peers": True, "buffers": {"a": {"bytes": 4}, "b": {"bytes": 4, "gpu": 1}, "s": {"bytes": 4},
                                                   "t": {"bytes": 4, "gpu": 1}},
            "launches": [{"kernel": "await", "gpu": 0, "grid": [1], "block": [1],
                          "args": [{"buffer": "b"}, {"i32": 1}, {"buffer": "s"}]},
                         {"kernel": "await", "gpu": 1, "grid": [1], "block": [1],
                          "args": [{"buffer": "a"}, {"i32": 1}, {"buffer": "t"}]}]}
    for how, (more, tcp) in WAYS.items():
        path = write_plan(args, folder, "deadlock", plan)
        for rank, (output, code) in enumerate(run_all(args, path, 2, more, tcp)):
            check(code == 4 and "deadlock in kernel 'await'" in output, f"rank {rank}, {how}: {code} {output}")


def listen(ports):
    """Waits until somebody listens at each."""
    for port in ports:
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.005)


def others_go_on(args, folder):
    """Rank 2 is killed: the launch that waits for its memory ends with a fault that names it, and those of ranks 0 and 1 that
    need each other end well, though they have most of their work before them."""
    for how, (more, tcp) in WAYS.items():
        laps = 20000 if how == "shared" else 1000
        plan = relay(2, laps)
        plan["gpus"] = 3
        plan["streams"] = {"w": {"gpu": 0}}
        plan["buffers"].update({"up": {"bytes": 4, "kind": "host"}, "gone": {"bytes": 4, "gpu": 2}, "stays": {"bytes": 4, "gpu": 2},
                                "seen": {"bytes": 4}})
        waits = {"kernel": "await", "grid": [1], "block": [1]}
        plan["launches"] += [
            {**waits, "gpu": 0, "stream": "w", "args": [{"buffer": "gone"}, {"i32": 1}, {"buffer": "seen"}]},
            {"kernel": "store", "gpu": 2, "grid": [1], "block": [1], "args": [{"buffer": "up"}, {"i32": 1}]},
            {**waits, "gpu": 2, "args": [{"buffer": "gone"}, {"i32": 1}, {"buffer": "stays"}]}]
        plan["host"] = [{"waitUntil": {"buffer": "up", "value": 1}}, {"read": {"buffer": "up", "type": "u32"}}]
        path = write_plan(args, folder, "lost", plan)
        with tempfile.TemporaryDirectory() as sockets:
            ports = free_ports(3) if tcp else None
            ranks = [start(args, sockets, path, rank, 3, (*more, "--json", "--progress=always"), ports) for rank in range(3)]
            for rank, word in ((0, "read"), (1, "relay")):  # until all have begun
                for line in ranks[rank].stdout:
                    if word in line:
                        break
            ranks[2].kill()
            ranks[2].communicate()
            for rank in (0, 1):
                output, code = ended(ranks[rank], f"rank {rank}, {how}")
                report = next((json.loads(line) for line in output.splitlines() if line.startswith("{")), None)
                check(report, f"rank {rank}, {how}: {code} {output}")
                status = {l["kernel"]: l["status"] for l in (report or {"launches": []})["launches"] if "elsewhere" not in l}
                check(status.get("relay") == "ok", f"rank {rank}, {how}: {status} {output}")
                check(rank or (status.get("await", "") == "fault:use-after-free" and "rank 2" in output), f"rank 0, {how}: {status} {output}")


def killed(args, folder):
    draw = random.Random(args.seed)
    plan = write_plan(args, folder, "long", relay(2, 1 << 30, expect=False))
    for run in range(args.runs):
        with tempfile.TemporaryDirectory() as sockets:
            how, (more, tcp) = list(WAYS.items())[run % len(WAYS)]
            ports = free_ports(2) if tcp else None
            ranks = [start(args, sockets, plan, rank, 2, more, ports) for rank in (0, 1)]
            victim = draw.randrange(2)
            while not tcp and not all(os.path.exists(f"{sockets}/{rank}") for rank in (0, 1)):
                time.sleep(0.001)
            if tcp:
                listen(ports)
            time.sleep(draw.random() * 1.5)  # a random moment is what is tested
            ranks[victim].send_signal(signal.SIGKILL)
            ranks[victim].communicate()
            output, code = ended(ranks[1 - victim], f"run {run}: rank {1 - victim}")
            check(code in (2, 3, 4) and f"rank {victim}" in output,
                  f"run {run}, {how}, rank {victim} killed: {code} {output}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("root")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parts = (results, elsewhere, multicast, keys, refusals, deadlock, others_go_on, killed)
    parser.add_argument("--only", nargs="+", choices=[one.__name__ for one in parts], default=[one.__name__ for one in parts])
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for one in (part for part in parts if part.__name__ in args.only):
            begin = time.monotonic()
            one(args, folder)
            print(f"{one.__name__}: {time.monotonic() - begin:.1f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
