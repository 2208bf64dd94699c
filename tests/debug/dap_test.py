# SPDX-License-Identifier: Apache-2.0
"""A client of the Debug Adapter Protocol, written from its published specification, drives the adapter."""
import base64
import json
import os
import struct
import subprocess
import threading
import unittest

import common


class Client:
    """Sends requests; every message that comes is checked for what the protocol asks of all."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([common.PROGRAM, "debug", "--dap", *arguments], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.watchdog = threading.Timer(120, self.process.kill)
        self.watchdog.start()
        self.sequence, self.last_came, self.events = 0, 0, []

    def close(self):
        if self.process.stdout.closed:
            return self.process.returncode
        self.watchdog.cancel()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait(60)
        self.errors = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        return self.process.returncode

    def send(self, command, **arguments):
        self.sequence += 1
        body = json.dumps({"seq": self.sequence, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()
        return self.sequence

    def receive(self):
        length = None
        while (line := self.process.stdout.readline()) not in (b"\r\n", b""):
            key, _, value = line.decode("ascii").partition(":")
            assert key == "Content-Length" and line.endswith(b"\r\n"), line
            length = int(value)
        assert length is not None, "the adapter is gone: " + self.process.stderr.read().decode()
        message = json.loads(self.process.stdout.read(length))
        assert message["seq"] > self.last_came
        self.last_came = message["seq"]
        assert message["type"] in ("event", "response")
        if message["type"] == "event":
            assert isinstance(message["event"], str)
            self.events.append(message)
        else:
            assert isinstance(message["success"], bool) and isinstance(message["command"], str)
        return message

    def request(self, command, success=True, **arguments):
        sequence = self.send(command, **arguments)
        while True:
            message = self.receive()
            if message["type"] == "response" and message["request_seq"] == sequence:
                assert message["command"] == command
                assert message["success"] == success, message
                return message.get("body", {}) if success else message["message"]

    def wait(self, event):
        while True:
            for k, message in enumerate(self.events):
                if message["event"] == event:
                    del self.events[k]
                    return message["body"]
            self.receive()

    def begin(self, program, breakpoints=(), **launch):
        self.capabilities = self.request("initialize", adapterID="sassemu", linesStartAt1=True)
        self.request("launch", program=program, **launch)
        self.wait("initialized")
        for command, arguments in breakpoints:
            self.request(command, **arguments)
        self.request("configurationDone")


class Dap(common.Case):
    def test_requests_that_are_malformed(self):
        """A key that is missing, of another kind, beyond its range, nested without end: an error for that request, and on it goes."""
        plan = self.plan("locals")
        client = Client("--directory", common.DATA)
        self.addCleanup(client.close)
        client.begin(plan, stopOnEntry=True)
        client.wait("stopped")
        wrong = (None, True, -1, 1 << 70, 1e300, 2.5, "", "x", [], {}, [[]], {"a": {}})
        keys = {"setBreakpoints": ("source", "breakpoints"), "setFunctionBreakpoints": ("breakpoints",), "setDataBreakpoints": ("breakpoints",),
                "setInstructionBreakpoints": ("breakpoints",), "stackTrace": ("threadId", "startFrame", "levels"), "scopes": ("frameId",),
                "variables": ("variablesReference", "start", "count"), "evaluate": ("expression", "frameId", "context"),
                "disassemble": ("memoryReference", "instructionOffset", "instructionCount"), "readMemory": ("memoryReference", "offset", "count"),
                "dataBreakpointInfo": ("name", "variablesReference"), "next": ("threadId", "granularity"), "threads": ()}
        def answer(sequence):
            while (message := client.receive())["type"] != "response" or message["request_seq"] != sequence:
                pass
            self.assertTrue(message["success"] or message["message"], message)
            return message
        for command, names in keys.items():
            answer(client.send(command))  # all keys are missing
            for value in wrong:
                for name in names:
                    answer(client.send(command, **{name: value}))
                answer(client.send(command, **{name: value for name in names}))
        for of in ({}, {"line": "x"}, {"line": -1}, {"name": 1}, {"instructionReference": ""}, {"instructionReference": "0x", "offset": -1}, {"dataId": "{"},
                   {"dataId": "[]"}, {"dataId": '{"expression": "$R0", "focus": [[], {}, 1, 2]}'}, 7, None, []):
            for command in ("setBreakpoints", "setFunctionBreakpoints", "setInstructionBreakpoints", "setDataBreakpoints"):
                answer(client.send(command, source={"path": "locals.cu"}, breakpoints=[of]))
        message = answer(client.send("setBreakpoints", source={"path": "locals.cu"}, breakpoints=[{"line": "nine"}]))
        self.assertEqual(message["message"], "setBreakpoints: line is string where a whole number from 0 to 4294967295 should be")
        deep = b"[" * 60000 + b"]" * 60000
        for envelope in (b'{"seq":1,"type":"request","command":"threads","arguments":%s}' % deep, b'{"seq":[],"type":"request","command":7}',
                         b'{"seq":{},"type":"request"}', b'{"type":7,"command":"threads"}', b"[]", b"7", b'"x"', b"{"):
            client.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(envelope) + envelope)
        client.process.stdin.flush()
        self.assertTrue(client.request("threads")["threads"])
        client.request("disconnect")
        self.assertEqual(client.close(), 0)

    def test_requests_that_come_faster_than_they_are_done(self):
        """Each halts the run for a moment; none is answered inside another."""
        client = Client()
        self.addCleanup(client.close)
        client.begin(self.plan("locals"), stopOnEntry=True)
        client.wait("stopped")
        first, last = client.sequence + 1, client.sequence + 3000
        client.sequence = last

        def send():  # while answers are read: neither side has room for all
            for number in range(first, last + 1):
                body = b'{"seq":%d,"type":"request","command":"continue","arguments":{}}' % number
                client.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            client.process.stdin.flush()
        sender = threading.Thread(target=send)
        sender.start()
        self.addCleanup(sender.join)
        while (message := client.receive())["type"] != "response" or message["request_seq"] != last:
            pass
        client.request("disconnect")
        self.assertEqual(client.close(), 0)

    def client(self, *arguments):
        client = Client("--directory", common.DATA, *arguments)
        self.addCleanup(client.close)
        return client

    def top(self, client, thread):
        return client.request("stackTrace", threadId=thread)["stackFrames"][0]

    def variables(self, client, frame, scope):
        scopes = client.request("scopes", frameId=frame)["scopes"]
        reference = next(s["variablesReference"] for s in scopes if s["name"] == scope)
        return {v["name"]: v for v in client.request("variables", variablesReference=reference)["variables"]}

    def test_a_session_of_an_editor(self):
        source = {"path": os.path.join(common.DATA, "locals.cu"), "name": "locals.cu"}
        c = self.client()
        c.capabilities = c.request("initialize", adapterID="sassemu")
        for name in ("supportsStepBack", "supportsDisassembleRequest", "supportsReadMemoryRequest"):
            self.assertTrue(c.capabilities[name])
        c.request("launch", program=self.plan("locals"))
        c.wait("initialized")
        told = c.request("setBreakpoints", source=source, breakpoints=[
            {"line": 24, "condition": "threadIdx.x == 35"}, {"line": 9999}])["breakpoints"]
        self.assertEqual([b["verified"] for b in told], [True, False])
        self.assertEqual(told[0]["line"], 24)
        c.request("setExceptionBreakpoints", filters=[])
        c.request("configurationDone")
        stopped = c.wait("stopped")
        self.assertEqual(stopped["reason"], "breakpoint")
        self.assertEqual(stopped["hitBreakpointIds"], [told[0]["id"]])
        thread = stopped["threadId"]
        self.assertIn(thread, [t["id"] for t in c.request("threads")["threads"]])
        frame = self.top(c, thread)
        self.assertEqual((frame["line"], frame["source"]["name"], frame["name"]), (24, "locals.cu", "locals"))
        self.assertTrue(os.path.exists(frame["source"]["path"]))
        local = self.variables(c, frame["id"], "Locals")
        self.assertEqual(local["scaled"]["value"], "3")
        self.assertEqual(local["i"]["value"], "35")
        pair = c.request("variables", variablesReference=local["pair"]["variablesReference"])["variables"]
        self.assertEqual([(v["name"], v["value"]) for v in pair], [("x", "1.5"), ("y", "2.5"), ("tag", "7")])
        table = c.request("variables", variablesReference=local["table"]["variablesReference"])["variables"]
        self.assertEqual([v["value"] for v in table], ["1", "2", "3", "4"])
        registers = self.variables(c, frame["id"], "Registers")
        self.assertRegex(registers["R1"]["value"], "^0x[0-9a-f]{8}$")
        self.assertEqual(self.variables(c, frame["id"], "Buffers")["in"]["type"], "unsigned int [128]")
        self.assertEqual(c.request("evaluate", expression="pair.y * 2", frameId=frame["id"],
                                   context="watch")["result"], "5")
        self.assertIn("no such variable", c.request("evaluate", success=False, expression="nothing",
                                                    frameId=frame["id"], context="hover"))
        self.assertIn("threadIdx", c.request("evaluate", expression="info locals", context="repl",
                                             frameId=frame["id"])["result"])
        # Forward and back.
        c.request("next", threadId=thread)
        self.assertEqual(c.wait("stopped")["reason"], "step")
        self.assertEqual(self.top(c, thread)["line"], 25)
        c.request("stepBack", threadId=thread)
        c.wait("stopped")
        self.assertEqual(self.top(c, thread)["line"], 24)
        before = self.top(c, thread)["instructionPointerReference"]
        c.request("stepIn", threadId=thread, granularity="instruction")
        c.wait("stopped")
        self.assertEqual(int(self.top(c, thread)["instructionPointerReference"], 16), int(before, 16) + 16)
        c.request("reverseContinue", threadId=thread)
        self.assertEqual(c.wait("stopped")["reason"], "breakpoint")
        # To its end.
        c.request("setBreakpoints", source=source, breakpoints=[])
        c.request("continue", threadId=thread)
        self.assertEqual(c.wait("exited")["exitCode"], 0)
        c.wait("terminated")
        c.request("disconnect")
        self.assertEqual(c.close(), 0)
        self.assertEqual(c.errors, b"")

    def test_the_frames_of_callers(self):
        def change(plan):
            plan["module"] = plan["module"].replace("calls.cubin", "calls.G.sm_90.cubin")
        c = self.client(self.plan("calls", change))
        c.begin("", [("setFunctionBreakpoints", {"breakpoints": [
            {"name": "leaf", "condition": "threadIdx.x == 2 && $R4 == 0"}]})])
        thread = c.wait("stopped")["threadId"]
        told = c.request("stackTrace", threadId=thread)
        frames = told["stackFrames"]
        self.assertEqual([(f["name"].split("(")[0], f["line"]) for f in frames],
                         [("leaf", 2), ("down", 18), ("down", 19), ("down", 19), ("calls", 24)])
        self.assertEqual(told["totalFrames"], 5)
        self.assertEqual([self.variables(c, f["id"], "Locals")["n"]["value"] for f in frames[1:]], ["0", "1", "2", "32"])
        self.assertEqual(c.request("evaluate", expression="n * 10", frameId=frames[3]["id"], context="hover")["result"], "20")
        registers = self.variables(c, frames[3]["id"], "Registers")
        self.assertIn("not kept", registers["R4"]["value"])
        self.assertRegex(registers["R16"]["value"], "^0x[0-9a-f]{8}$")
        stacks = [int(self.variables(c, f["id"], "Registers")["R1"]["value"], 16) for f in frames]
        self.assertEqual(stacks, sorted(stacks))
        self.assertLess(stacks[1], stacks[2])
        # In the editor's console the chosen frame counts too; a step goes from where the lane is.
        self.assertEqual(c.request("evaluate", expression="print n", frameId=frames[2]["id"], context="repl")["result"],
                         "$1 = 1\n")
        self.assertIn("#0  leaf", c.request("evaluate", expression="bt", frameId=frames[2]["id"], context="repl")["result"])
        self.assertEqual(len(c.request("stackTrace", threadId=thread, startFrame=1, levels=2)["stackFrames"]), 2)
        c.request("next", threadId=thread)
        c.wait("stopped")
        self.assertEqual(self.top(c, thread)["name"].split("(")[0], "leaf")
        c.request("stepOut", threadId=thread)
        c.wait("stopped")
        self.assertEqual([f["name"].split("(")[0] for f in c.request("stackTrace", threadId=thread)["stackFrames"]],
                         ["down", "down", "down", "calls"])
        c.request("disconnect")
        self.assertEqual(c.close(), 0)

    def test_code_and_memory(self):
        c = self.client(self.plan("steps"))
        c.begin("", stopOnEntry=True)
        stopped = c.wait("stopped")
        self.assertEqual(stopped["reason"], "entry")
        frame = self.top(c, stopped["threadId"])
        at = frame["instructionPointerReference"]
        insns = c.request("disassemble", memoryReference=at, instructionOffset=0, instructionCount=4)["instructions"]
        self.assertEqual([int(i["address"], 16) - int(at, 16) for i in insns], [0, 16, 32, 48])
        self.assertEqual(insns[0]["instruction"], "LDC R1, c[0x0][0x28]")
        told = c.request("setInstructionBreakpoints", breakpoints=[{"instructionReference": insns[3]["address"]}])
        self.assertTrue(told["breakpoints"][0]["verified"])
        c.request("continue", threadId=stopped["threadId"])
        self.assertEqual(c.wait("stopped")["reason"], "breakpoint")
        self.assertEqual(self.top(c, stopped["threadId"])["instructionPointerReference"], insns[3]["address"])
        buffer = self.variables(c, frame["id"], "Buffers")["in"]
        memory = c.request("readMemory", memoryReference=buffer["memoryReference"], offset=4, count=8)
        words = struct.unpack("<2I", base64.b64decode(memory["data"]))
        elements = c.request("variables", variablesReference=buffer["variablesReference"], start=1, count=2)["variables"]
        self.assertEqual([str(w) for w in words], [v["value"] for v in elements])
        self.assertEqual(c.request("readMemory", memoryReference="0x10", count=4)["unreadableBytes"], 4)

    def test_data_and_function_breakpoints(self):
        c = self.client(self.plan("steps"))
        c.begin("", [("setFunctionBreakpoints", {"breakpoints": [{"name": "steps", "condition": "blockIdx.x == 1"},
                                                                 {"name": "none"}]})])
        stopped = c.wait("stopped")
        self.assertEqual(stopped["reason"], "breakpoint")
        frame = self.top(c, stopped["threadId"])
        self.assertEqual(c.request("evaluate", expression="blockIdx.x", frameId=frame["id"])["result"], "1")
        info = c.request("dataBreakpointInfo", name="out[70]")
        told = c.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "accessType": "write"}])
        self.assertTrue(told["breakpoints"][0]["verified"])
        self.assertIsNone(c.request("dataBreakpointInfo", name="1 + 1")["dataId"])
        c.request("setFunctionBreakpoints", breakpoints=[])
        c.request("continue", threadId=stopped["threadId"])
        self.assertEqual(c.wait("stopped")["reason"], "data breakpoint")
        c.request("continue", threadId=stopped["threadId"])
        c.wait("terminated")

    def test_pause_and_breakpoints_while_it_runs(self):
        c = self.client(os.path.join(common.ROOT, "cubins", "bench", "ffma.json"))
        c.begin("")
        told = c.request("setFunctionBreakpoints", breakpoints=[{"name": "none"}])  # answered while it runs
        self.assertFalse(told["breakpoints"][0]["verified"])
        c.request("pause", threadId=1)
        self.assertEqual(c.wait("stopped")["reason"], "pause")
        c.request("stepBack", threadId=1, granularity="instruction")
        c.wait("stopped")
        c.request("terminate")
        self.assertEqual(c.close(), 0)

    def test_a_fault_is_an_exception(self):
        c = self.client()
        c.begin(os.path.join(common.ROOT, "cubins", "fault_misaligned", "plan.json"), arch="sm_90")
        stopped = c.wait("stopped")
        self.assertEqual(stopped["reason"], "exception")
        self.assertIn("misaligned", stopped["text"])

    def test_what_is_wrong_is_said(self):
        c = self.client()
        self.assertIn("nothing has been launched", c.request("threads", success=False))
        self.assertIn("names no program", c.request("launch", success=False))
        self.assertIn("No such file", c.request("launch", success=False, program=self.path("none.json")))
        self.assertIn("is not supported", c.request("fly", success=False))
        c.request("launch", program=self.plan("steps"))
        self.assertIn("already", c.request("launch", success=False, program=self.plan("steps")))
        self.assertIn("there is none", c.request("stackTrace", success=False, threadId=77))
        self.assertIn("memoryReference is missing", c.request("disassemble", success=False))
        self.assertIn("earlier halt", c.request("variables", success=False, variablesReference=999))

    def test_input_that_is_no_protocol_ends_it(self):
        for text, code in ((b"hello\r\n\r\n", 2), (b"Content-Length: 99999999999\r\n\r\n", 2), (b"Content-Length: 4\r\n\r\n{}", 0),
                           (b"x" * 9000, 2), (b"Content-Length: 2\r\n\r\n[]" * 3, 0)):
            done = subprocess.run([common.PROGRAM, "debug", "--dap"], input=text, capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout), (code, b""), text[:40])
            self.assertEqual(b"no message" in done.stderr, code == 2, done.stderr)


if __name__ == "__main__":
    unittest.main()
