# SPDX-License-Identifier: Apache-2.0
"""Reads the traces that sassemu's plugin `trace` writes. Needs Python 3.8 and libzstd.so.1, nothing else.

    from sassemu import trace
    with trace.Trace("run.trace") as t:
        for record in t.records():
            print(record.cta, record.warp, hex(record.pc), hex(record.lanes), record.instruction["text"])

The format is sdk/trace/trace.proto; fields of messages have its names and its numbers stand in the tables below.
What cannot be read raises trace.Error. A file that ends too early reads up to the cut: `truncated` is then true.
"""
import ctypes
import ctypes.util
import os
import struct

FIRST = struct.pack("<II", 0x184D2A57, 16) + b"sassemu trace 1\n"
LAST_MAGIC = 0x184D2A58
END_MARK = b"sastrace"
MOST_BLOCK_BYTES = 1 << 28
MOST_RECORDS = 1 << 22  # of a block


class Error(Exception):
    """A trace that cannot be read: one line."""


# ---- messages: field number -> (name, type). u: unsigned, s: zigzag, i: signed, str; [..]: repeated; a table: a message
DIM3 = {1: ("x", "u"), 2: ("y", "u"), 3: ("z", "u")}
OPERAND = {1: ("kind", "u"), 2: ("index", "u"), 3: ("destination", "u"), 4: ("value", "i")}
HEADER = {1: ("version", "u"), 2: ("addresses", "u"), 3: ("values", "u"), 4: ("registers", "u"), 5: ("events", "u"),
          6: ("filter", ["str"])}
INSTRUCTION = {1: ("id", "u"), 2: ("pc", "u"), 3: ("function", "str"), 4: ("opcode", "str"), 5: ("text", "str"),
               6: ("file", "str"), 7: ("line", "u"), 8: ("effect", "u"), 9: ("action", "u"), 10: ("operand", [OPERAND]),
               11: ("read_register", ["u"]), 12: ("read_uniform", ["u"]), 13: ("read_predicate", ["u"]),
               14: ("written_register", ["u"]), 15: ("written_uniform", ["u"]), 16: ("written_predicate", ["u"])}
LAUNCH = {1: ("id", "u"), 2: ("kernel", "str"), 3: ("arch", "str"), 4: ("grid", DIM3), 5: ("block", DIM3),
          6: ("cluster", DIM3), 7: ("registers", "u"), 8: ("shared_static", "u"), 9: ("shared_dynamic", "u"),
          10: ("local", "u"), 11: ("gpu", "u"), 12: ("sms", "u"), 13: ("time", "u"), 14: ("timed", "u"),
          15: ("in_flight", "u")}
LAUNCH_END = {1: ("id", "u"), 2: ("status", "str"), 3: ("shared_window", "u"), 4: ("local_window", "u"),
              5: ("time", "u")}
CTA = {1: ("launch", "u"), 2: ("linear", "u"), 3: ("id", DIM3), 4: ("sm", "u"), 5: ("warps", "u"), 6: ("cluster", "u"),
       7: ("rank", "u")}
COPY = {1: ("address", "u"), 2: ("bytes", "u")}
SYNC = {1: ("kind", "u"), 2: ("warp", "u"), 3: ("lanes", "u"), 4: ("id", "u"), 5: ("address", "u"), 6: ("owner", "u"),
        7: ("phase", "u"), 8: ("phase_after", "u"), 9: ("passed", "u"), 10: ("pending", "u"), 11: ("arrivals", "s"),
        12: ("expect", "s"), 13: ("transactions", "s"), 14: ("waits", "u"), 15: ("parity", "u"), 16: ("agent", "u")}
ASYNC = {1: ("step", "u"), 2: ("agent_kind", "u"), 3: ("id", "u"), 4: ("warp", "u"), 5: ("lanes", "u"),
         6: ("space", "u"), 7: ("address", "u"), 8: ("owner", "u"), 9: ("bytes", "u"), 10: ("proxy", "u"),
         11: ("mbarrier", "u"), 12: ("mbarrier_owner", "u")}
FAULT = {1: ("kind", "str"), 2: ("what", "str"), 3: ("warp", "u"), 4: ("lanes", "u")}
LOADED = {1: ("instruction", "u"), 2: ("warp", "u"), 3: ("lanes", "u"), 4: ("value", ["w"])}
EVENT = {1: ("records", "u"), 2: ("sync", SYNC), 3: ("async", ASYNC), 4: ("fault", FAULT), 5: ("loaded", LOADED)}
CLIENT = {1: ("time", "u"), 2: ("kind", "u"), 3: ("gpu", "u"), 4: ("op", "u"), 5: ("waited", "u"), 6: ("address", "u"),
          7: ("bytes", "u"), 8: ("value", "bytes")}
MODEL_EVENT = {1: ("time", "u"), 2: ("kind", "u"), 3: ("where", "str"), 4: ("address", "u"), 5: ("bytes", "u"),
               6: ("gpu", "u"), 7: ("client", "u"), 8: ("launch", "u"), 9: ("cta", "u"), 10: ("warp", "u"),
               11: ("lane", "u")}
OUTSIDE = {1: ("client", [CLIENT]), 2: ("model", [MODEL_EVENT])}
ALLOCATION = {1: ("time", "u"), 2: ("address", "u"), 3: ("bytes", "u"), 4: ("name", "str"), 5: ("gpu", "s"),
              6: ("released", "u")}
RECORDS = {1: ("launch", "u"), 2: ("cta", "u"), 3: ("slice_warp", ["u"]), 4: ("slice_runs", ["u"]),
           5: ("slice_first", ["u"]), 6: ("slice_clock", ["u"]), 7: ("step", ["s"]), 8: ("lanes", ["u"]),
           9: ("waiting", ["u"]), 10: ("access_record", ["u"]), 11: ("access_op", ["u"]), 12: ("access_bytes", ["u"]),
           13: ("access_lanes", ["u"]), 14: ("access_form", ["u"]), 15: ("access_address", ["s"]),
           16: ("access_words", ["u"]), 17: ("access_value", ["w"]), 18: ("access_result_words", ["u"]),
           19: ("access_result", ["w"]), 20: ("before", ["w"]), 21: ("has_after", ["u"]), 22: ("after", ["w"]),
           23: ("event", [EVENT]), 24: ("more", ["u"]), 25: ("slice_time", ["u"])}
BLOCK = {1: ("header", HEADER), 2: ("instruction", [INSTRUCTION]), 3: ("launch", LAUNCH), 4: ("launch_end", LAUNCH_END),
         5: ("cta", CTA), 6: ("records", RECORDS), 7: ("copy", COPY), 8: ("outside", OUTSIDE),
         9: ("allocation", ALLOCATION)}
TRACE = {1: ("block", [BLOCK])}
INDEX = {1: ("size", ["u"]), 2: ("launch", ["u"]), 3: ("cta", ["u"]), 4: ("records", ["u"])}


def _varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Error("is not as in trace.proto")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def _number(value, kind):
    if kind == "s":
        return value >> 1 ^ -(value & 1)
    return value - (1 << 64) if kind == "i" and value >> 63 else value


def _message(data, table, only=()):
    """A message as a dict with every field of the table. `only`: names that must be there."""
    out = {name: [] if isinstance(kind, list) else None if isinstance(kind, dict)
           else {"str": "", "bytes": b""}.get(kind, 0) for name, kind in table.values()}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
        elif wire in (1, 5, 2):
            size, at = _varint(data, at) if wire == 2 else (8 if wire == 1 else 4, at)
            if size > len(data) - at:
                raise Error("is not as in trace.proto")
            value = data[at:at + size]
            at += size
        else:
            raise Error("is not as in trace.proto")
        if key >> 3 not in table:
            continue
        name, kind = table[key >> 3]
        repeated = isinstance(kind, list)
        one = kind[0] if repeated else kind
        if isinstance(one, dict) or one in ("str", "bytes"):
            if wire != 2:
                raise Error("is not as in trace.proto")
            value = (_message(value, one) if isinstance(one, dict) else bytes(value) if one == "bytes"
                     else bytes(value).decode("utf-8", "replace"))
            if repeated:
                out[name].append(value)
            else:
                out[name] = value
        elif one == "w":
            if wire not in (2, 5) or len(value) % 4:
                raise Error("is not as in trace.proto")
            out[name].extend(struct.unpack("<%dI" % (len(value) // 4), value))
        elif repeated and wire == 2:
            inner = 0
            while inner < len(value):
                number, inner = _varint(value, inner)
                out[name].append(_number(number, one))
        elif wire == 0:
            if repeated:
                out[name].append(_number(value, one))
            else:
                out[name] = _number(value, one)
        else:
            raise Error("is not as in trace.proto")
    return out


def _zstd():
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    library.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
    library.ZSTD_getFrameContentSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_findFrameCompressedSize.restype = ctypes.c_size_t
    library.ZSTD_findFrameCompressedSize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    library.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return library


class Access:
    """One access to memory: op and space (enums of memory.h), bytes per lane, lanes, {lane: address}, values and
    results: {lane: [words]}, empty where the trace has none."""
    __slots__ = ("op", "space", "bytes", "lanes", "addresses", "values", "results")


class Record:
    """One executed warp instruction."""
    __slots__ = ("launch", "cta", "warp", "number", "clock", "time", "instruction", "active", "lanes", "accesses", "before",
                 "after")

    @property
    def pc(self):
        return self.instruction["pc"]


def lanes_of(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


class Trace:
    def __init__(self, path):
        self.path = path
        self._zstd = _zstd()
        self.header, self.launches, self.ends, self.ctas, self.copies, self.instructions = None, [], {}, {}, [], []
        # The host and copies in streams; what happened in the memory model; what was allocated and released. In order.
        self.clients, self.model_events, self.allocations = [], [], []
        self.blocks = []  # (offset, size, launch, cta, records)
        self.truncated = False
        try:
            self._file = open(path, "rb")
        except OSError as error:
            raise Error(f"{path}: {error.strerror}") from error
        try:
            self._bytes = os.fstat(self._file.fileno()).st_size
            head = self._read(0, min(len(FIRST), self._bytes))
            if not head or head != FIRST[:len(head)]:
                raise Error("is no trace of sassemu (version 1)")
            if not self._index():
                self._scan()
            launches = {launch["id"] for launch in self.launches}
            for offset, _, launch, cta, _ in self.blocks:
                if launch not in launches or (launch, cta) not in self.ctas:
                    raise Error(f"the block at byte {offset}: CTA {cta} of launch {launch} is not in the trace; the index may be damaged")
        except Error as error:
            self._file.close()
            raise Error(f"{path}: {error}") from error

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self, offset, size):
        self._file.seek(offset)
        return self._file.read(size)

    def _block(self, frame):
        size = self._zstd.ZSTD_getFrameContentSize(frame, len(frame))
        if size > MOST_BLOCK_BYTES:
            raise Error("a frame is no block of a trace")
        room = ctypes.create_string_buffer(size or 1)
        if self._zstd.ZSTD_decompress(room, size, frame, len(frame)) != size:
            raise Error("a frame does not decompress")
        blocks = _message(memoryview(room)[:size].tobytes(), TRACE)["block"]
        if len(blocks) != 1:
            raise Error("is not as in trace.proto")
        return blocks[0]

    def _define(self, block):
        if block["records"]:
            raise Error("the index hides a block with records")
        self.header = block["header"] or self.header
        self.instructions += block["instruction"]
        if block["launch"]:
            self.launches.append(block["launch"])
        if block["launch_end"]:
            self.ends[block["launch_end"]["id"]] = block["launch_end"]
        if block["cta"]:
            self.ctas[block["cta"]["launch"], block["cta"]["linear"]] = block["cta"]
        if block["copy"]:
            self.copies.append(block["copy"])
        if block["outside"]:
            self.clients += block["outside"]["client"]
            self.model_events += block["outside"]["model"]
        if block["allocation"]:
            self.allocations.append(block["allocation"])

    def _index(self):
        if self._bytes < len(FIRST) + 24:
            return False
        end = self._read(self._bytes - 16, 16)
        at = struct.unpack("<Q", end[:8])[0]
        if end[8:] != END_MARK or not len(FIRST) <= at <= self._bytes - 24:
            return False
        frame = self._read(at, self._bytes - at)
        if struct.unpack("<II", frame[:8]) != (LAST_MAGIC, len(frame) - 8):
            return False
        index = _message(frame[8:-16], INDEX)
        rows = list(zip(index["size"], index["launch"], index["cta"], index["records"]))
        if sum(index["size"]) != at - len(FIRST) or len(rows) != len(index["size"]):
            return False
        offset = len(FIRST)
        for size, launch, cta, records in rows:
            if records:
                self.blocks.append((offset, size, launch, cta, records))
            else:
                self._define(self._block(self._read(offset, size)))
            offset += size
        if any((launch, cta) not in self.ctas for _, _, launch, cta, _ in self.blocks):
            raise Error("the index names a CTA that never began")
        return True

    def _scan(self):
        self.truncated = True
        at, look = len(FIRST), 1 << 20
        while at < self._bytes:
            piece = self._read(at, look)
            if piece[:4] == struct.pack("<I", LAST_MAGIC):
                return
            size = self._zstd.ZSTD_findFrameCompressedSize(piece, len(piece))
            if size > len(piece):
                if len(piece) < look or look > MOST_BLOCK_BYTES:
                    return
                look *= 4
                continue
            block = self._block(piece[:size])
            if block["records"]:
                r = block["records"]
                self.blocks.append((at, size, r["launch"], r["cta"], len(r["more"]) + sum(r["more"])))
            else:
                self._define(block)
            at, look = at + size, 1 << 20

    def read(self, block):
        """The records and the events (as dicts) of one entry of `blocks`."""
        offset, size = block[:2]
        try:
            r = self._block(self._read(offset, size))["records"]
            found = self._records(r)
            if (r["launch"], r["cta"], len(found)) != tuple(block[2:5]):
                raise Error("the index says something else of it")
            return found, r["event"]
        except (IndexError, TypeError) as error:
            raise Error(f"{self.path}: the block at byte {offset} is not as in trace.proto") from error
        except Error as error:
            raise Error(f"{self.path}: the block at byte {offset}: {error}") from error

    def records(self, launch=None, cta=None):
        """All records, or those of one launch, of one CTA, block by block."""
        for block in self.blocks:
            if launch in (None, block[2]) and cta in (None, block[3]):
                yield from self.read(block)[0]

    def _records(self, r):
        out, last = [], {}
        at = time = 0
        times = r["slice_time"] or [None] * len(r["slice_warp"])
        for warp, runs, first, clock, later in zip(r["slice_warp"], r["slice_runs"], r["slice_first"],
                                                   r["slice_clock"], times):
            time += later or 0
            number, lanes = last.get(warp, (-1, 0))
            begin = len(out)
            for _ in range(runs):
                number += r["step"][at] + 1
                lanes ^= r["lanes"][at]
                if number < 0 or len(out) + r["more"][at] >= MOST_RECORDS:
                    raise Error("names an instruction that is not there")
                for instruction in range(number, number + r["more"][at] + 1):
                    one = Record()
                    one.launch, one.cta, one.warp = r["launch"], r["cta"], warp
                    one.number, one.clock = first + len(out) - begin, clock + len(out) - begin
                    one.time = 0 if later is None else time + len(out) - begin
                    one.instruction = self.instructions[instruction]
                    one.lanes, one.active = lanes, lanes | r["waiting"][at]
                    one.accesses, one.before, one.after = [], None, None
                    out.append(one)
                number += r["more"][at]
                at += 1
            last[warp] = number, lanes
        self._accesses(r, out)
        if r["has_after"]:
            before, after = iter(r["before"]), iter(r["after"])
            for one, has_after in zip(out, r["has_after"]):
                one.before = self._registers(one, "read", before)
                if has_after:
                    one.after = self._registers(one, "written", after)
        return out

    @staticmethod
    def _registers(one, which, words):
        """{"R4": [a word per lane of one.lanes], "UR2": word, "P0": bits}"""
        i, out = one.instruction, {}
        for register in i[which + "_register"]:
            out[f"R{register}"] = [next(words) for _ in range(bin(one.lanes).count("1"))]
        for register in i[which + "_uniform"]:
            out[f"UR{register}"] = next(words)
        for p in i[which + "_predicate"]:
            out[f"P{p}" if p < 8 else f"UP{p - 8}"] = next(words)
        return out

    @staticmethod
    def _accesses(r, out):
        record, shapes = 0, {}
        address, value, result = iter(r["access_address"]), iter(r["access_value"]), iter(r["access_result"])
        wrap = (1 << 64) - 1
        for k, skip in enumerate(r["access_record"]):
            record += skip
            of, m = out[record], Access()
            m.op, m.space, m.bytes = r["access_op"][k] & 15, r["access_op"][k] >> 4, r["access_bytes"][k]
            m.lanes = r["access_lanes"][k] ^ of.lanes
            lanes, form = lanes_of(m.lanes), r["access_form"][k]
            last = shapes.get(of.instruction["id"], [0])
            at = [last[0] + next(address)] if lanes else []
            if form == 2:
                if len(last) != len(lanes):
                    raise Error("names a form that is not there")
                at = [at[0] + a - last[0] for a in last]
            else:
                stride = next(address) if form == 0 and len(lanes) > 1 else None
                for _ in lanes[1:]:
                    at.append(at[-1] + (next(address) if stride is None else stride))
            at = [a & wrap for a in at]
            m.addresses = dict(zip(lanes, at))
            shapes[of.instruction["id"]] = at or last

            def words(column, values):
                each = r[column][k] if r[column] else 0
                return {lane: [next(values) for _ in range(each)] for lane in lanes} if each else {}
            m.values, m.results = words("access_words", value), words("access_result_words", result)
            of.accesses.append(m)
