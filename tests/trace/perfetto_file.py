# SPDX-License-Identifier: Apache-2.0
"""Reads a file for the Perfetto UI by the numbers that Perfetto publishes (protos/perfetto/trace), strictly: whatever
is not as it should be is an AssertionError."""
import struct

# The part of Perfetto's published format that is written: field -> (name, wire type).
VARINT, FIXED64, BYTES = 0, 1, 2
BEGIN, END, INSTANT = 1, 2, 3  # types of events
TRACE = {1: ("packet", BYTES)}
PACKET = {8: ("timestamp", VARINT), 10: ("trusted_packet_sequence_id", VARINT), 11: ("track_event", BYTES),
          60: ("track_descriptor", BYTES)}
TRACK = {1: ("uuid", VARINT), 2: ("name", BYTES), 5: ("parent_uuid", VARINT)}
EVENT = {9: ("type", VARINT), 11: ("track_uuid", VARINT), 22: ("categories", BYTES), 23: ("name", BYTES),
         47: ("flow_ids", FIXED64), 48: ("terminating_flow_ids", FIXED64)}


def message(data, table):
    """Strictly: every field is known, has its wire type, and is there at most once; {name: value}."""
    out, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            assert shift <= 70
            if byte < 128:
                assert byte or shift == 7, "longer than needed"
                return value
    while at < len(data):
        key = varint()
        name, wire = table[key >> 3]
        assert wire == key & 7, (name, key & 7)
        if wire == VARINT:
            value = varint()
        elif wire == FIXED64:
            value, = struct.unpack_from("<Q", data, at)
            at += 8
        else:
            size = varint()
            assert size <= len(data) - at
            value = data[at:at + size]
            at += size
        if table is TRACE:
            out.setdefault(name, []).append(value)
            continue
        assert name not in out, name
        out[name] = value
    return out


def read(path):
    """Tracks {uuid: (name, parent)} and events [(track, time, event)], in the order of the file. Parents come before
    their children, times of a track ascend, slices end."""
    with open(path, "rb") as f:
        packets = [message(p, PACKET) for p in message(f.read(), TRACE)["packet"]]
    tracks, events, open_slices, times = {}, [], {}, {}
    for p in packets:
        assert p["trusted_packet_sequence_id"] == 1
        assert ("track_descriptor" in p) != ("track_event" in p)
        if "track_descriptor" in p:
            d = message(p["track_descriptor"], TRACK)
            assert d["uuid"] not in tracks
            assert d.get("parent_uuid", 0) in tracks or "parent_uuid" not in d
            tracks[d["uuid"]] = d["name"].decode(), d.get("parent_uuid", 0)
            continue
        e, now = message(p["track_event"], EVENT), p["timestamp"]
        for key in ("name", "categories"):
            if key in e:
                e[key] = e[key].decode()
        track, kind = e["track_uuid"], e["type"]
        assert track in tracks and now >= times.get(track, 0)
        times[track] = now
        open_slices[track] = open_slices.get(track, 0) + {BEGIN: 1, END: -1, INSTANT: 0}[kind]
        assert 0 <= open_slices[track] <= 2, tracks[track]
        assert ("name" in e) == (kind != END) and (kind == END or e["categories"])
        events.append((track, now, e))
    assert not any(open_slices.values())
    return tracks, events
