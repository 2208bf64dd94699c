// SPDX-License-Identifier: Apache-2.0
// Reading the traces that the plugin `trace` writes (docs/trace.md). Link to
// sassemu::sassemu_trace. What belongs here: the reader and the conversions. What does not: the
// format, which is trace.proto; the messages of definitions (Launch, Instruction, Cta, ...) are
// those generated from it.
//
//   sassemu::trace::Reader trace("run.trace");
//   for (size_t i = 0; i < trace.blocks().size(); ++i)
//       for (const auto& r : trace.read(i).records) use(r.instruction->pc(), r.lanes);
//
// Whatever cannot be read or written is thrown as sassemu::trace::Error, one line.
#pragma once

#include <sassemu/trace.pb.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace sassemu::trace {

struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct MemoryAccess {
    uint32_t op, space;                  // enum sassemu_op, sassemu_space (memory.h)
    uint32_t bytes, lanes;               // per lane; a bit per lane
    std::array<uint64_t, 32> addresses;  // of the lanes set
    std::vector<uint32_t> values;        // all words of the first lane, of the second, ...
    std::vector<uint32_t> results;       // of an atomic
};

// One executed warp instruction.
struct Record {
    uint32_t warp;
    uint64_t number;  // among its warp's records, from 0
    uint64_t clock;   // of its slice, plus its place in it: exact where nothing was filtered
    uint64_t time;    // likewise; 0 where the launch is not timed
    const Instruction* instruction;  // lives as long as the reader
    uint32_t active, lanes;          // lanes of the path; those that execute it
    std::vector<MemoryAccess> accesses;
    std::vector<uint32_t> before, after;  // as in trace.proto
    bool has_after;
};

struct RecordBlock {
    uint64_t launch, cta;
    std::vector<Record> records;
    std::vector<Event> events;
};

struct BlockPlace {
    uint64_t offset, size;  // of the frame in the file, bytes
    uint64_t launch, cta, records;
};

class Reader {
  public:
    // `before_block` is called before each block is read, by whoever reads, and may throw to end
    // it.
    explicit Reader(const std::string& path, std::function<void()> before_block = {});
    ~Reader();
    Reader(const Reader&) = delete;

    const std::string& path() const { return path_; }
    uint64_t file_bytes() const { return bytes_; }
    // The file ends too early: what comes before the cut is there.
    bool truncated() const { return truncated_; }
    const Header& header() const { return header_; }
    const std::vector<Launch>& launches() const { return launches_; }
    const std::map<uint64_t, LaunchEnd>& ends() const { return ends_; }  // by launch
    const std::map<std::pair<uint64_t, uint64_t>, Cta>& ctas() const { return ctas_; }
    const std::vector<Copy>& copies(uint64_t before_launch) const;
    // The host and copies in streams; what happened in the memory model. In order.
    const std::vector<Client>& clients() const { return clients_; }
    const std::vector<ModelEvent>& model_events() const { return model_events_; }
    const std::vector<Allocation>& allocations() const { return allocations_; }
    const std::vector<std::unique_ptr<Instruction>>& instructions() const { return instructions_; }
    const std::vector<BlockPlace>& blocks() const { return blocks_; }  // with records
    RecordBlock read(size_t block) const;

  private:
    [[noreturn]] void bad(const std::string& what) const;
    bool read_index();
    void scan();
    void check_places() const;
    std::string frame(uint64_t offset, uint64_t size) const;
    Trace parsed(const std::string& frame, uint64_t offset) const;
    void define(Trace&& one);
    RecordBlock decoded(const Records& r) const;

    std::string path_;
    std::function<void()> before_block_;
    int file_ = -1;
    uint64_t bytes_ = 0;
    bool truncated_ = false;
    Header header_;
    std::vector<Launch> launches_;
    std::map<uint64_t, LaunchEnd> ends_;
    std::map<std::pair<uint64_t, uint64_t>, Cta> ctas_;
    std::map<uint64_t, std::vector<Copy>> copies_;
    std::vector<Client> clients_;
    std::vector<ModelEvent> model_events_;
    std::vector<Allocation> allocations_;
    std::vector<std::unique_ptr<Instruction>> instructions_;
    std::vector<BlockPlace> blocks_;
};

// The memory that an address was in at some time: null, or one of allocations().
class Owners {
  public:
    explicit Owners(const Reader&);
    const Allocation* find(uint64_t address, uint64_t time) const;

  private:
    struct Life {
        const Allocation* of;
        uint64_t end;
    };
    std::multimap<uint64_t, Life> lives_;  // by address
    uint64_t longest_ = 0;                 // bytes
};

// Whose memory an access of a launch in flight goes to: a GPU's number, -1 the host's; its own
// GPU's where that is not known.
int32_t home_of(const Owners&, const MemoryAccess&, uint64_t time, const Launch&);

// In words: "the host stores 4 bytes", "a store of CTA 1, warp 0, lane 3 is in L2", " ('in'+0x40)".
std::string text_of(const Client&);
std::string text_of(const ModelEvent&);
std::string name_text(const Allocation* of, uint64_t address);

// The blocks of each CTA, in order: [(launch, CTA)].
std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> by_cta(const Reader&);

// Names of registers in the order of Record::before (`written`: after), each with how many words it
// has per record of so many lanes.
struct RegisterName {
    std::string name;
    uint32_t words;
};
std::vector<RegisterName> register_names(const Instruction&, bool written, uint32_t lanes);

// The first difference between two traces: empty, or lines that name it.
struct CompareOptions {
    bool pc = true, masks = true, addresses = true, values = true, registers = true;
};
std::string first_difference(const Reader& a, const Reader& b, const CompareOptions& = {});

// Accel-Sim's version 5 or 6: kernelslist.g and a kernel-N.traceg (6: .tracez) for each launch, in
// this folder, which is made. Returns the number of instruction lines.
uint64_t write_accel_sim(const Reader&, const std::string& folder, unsigned version = 5);

// A file for the Perfetto UI. Returns the number of packets.
uint64_t write_perfetto(const Reader&, const std::string& path);

}  // namespace sassemu::trace
