// SPDX-License-Identifier: Apache-2.0
// A thread's turn in machine code. Registers hold values that may still be open; whatever an
// instruction computes is computed by the emulator's own handler once its inputs are known
// (sass/lane.hpp). What belongs here: which events an instruction makes and what each depends on.
#pragma once

#include "emu/explore/graph/turn.hpp"
#include "emu/explore/sass/copies.hpp"
#include "emu/explore/sass/products.hpp"
#include "emu/explore/sass/program.hpp"

namespace sassemu::explore {

class SassTurn final : public Turn {
  public:
    SassTurn(const Program& program, State& s, uint32_t thread, int32_t outcome)
        : Turn(program, s, thread, outcome) {}

    Step take();

  private:
    std::string where() const override { return code_.place(pc_) + ": '" + code_.text(pc_) + "'"; }
    Step wait_or_guess(uint32_t value, uint32_t guesses);
    uint32_t& reg(uint32_t number) { return self_.registers[number]; }

    // sass_turn.cpp
    Step instruction();
    Step fault(const SassEffects& e);
    const SassEffects& run() {
        const auto used = i_.tensor ? s_.granules.find(me_.cta) : s_.granules.end();
        return sass_.run(thread_, pc_, in_, used == s_.granules.end() ? 0 : used->second.used);
    }
    void write(const Events& reads);       // what the handler left in the registers
                                           // that it writes
    Value computed(uint32_t index) const;  // a register, or Value::address
    Step plain();
    Step control();
    Step access();
    Step guess_address(std::optional<uint64_t>& out);
    using Operands = std::array<uint32_t, 2>;  // what an access stores: values of the state
    Step memory(const sassemu::Access& a, uint64_t address, const Operands& given);
    Step at_members(const sassemu::Access& a, const std::vector<uint64_t>& members,
                    const Operands& given, const std::optional<LoadReduce>& combine);
    bool located(const sassemu::Access& a, uint64_t address, op::Access& where);
    uint32_t read(const op::Access& where);
    uint32_t data(uint32_t row, uint32_t bytes);
    void deliver(const sassemu::Access& a, uint32_t value);
    bool find(bool near, bool own, uint64_t address, uint64_t bytes, uint64_t alignment,
              Place& out);
    Step local(const sassemu::Access& a, uint32_t address);

    // sass_barriers.cpp
    Step other();
    Step barrier(const BarrierRequest& r);
    Step warpsync(uint32_t lanes);
    Step mbarrier(const SassEffects& e);
    bool object(uint32_t address, Place& out);

    // sass_products.cpp
    Step undefined_registers();
    bool meets_products();
    bool meets_products(const async::WarpgroupMultiply& m) const;
    Step product(const SassEffects& e);
    void multiply(GraphProduct& p);
    void distribute(const std::shared_ptr<const GraphProduct>& p);
    Step product_wait(uint32_t left);
    Step product_fence();

    // sass_tensor.cpp
    Step tensor(const SassEffects& e);
    Step tensor_granules(const SassEffects& e);
    Step share_granules(const async::GranuleRequest& r, const Place& word);
    bool find_tensor(uint32_t offset, uint32_t bytes, Place& out);
    Step tensor_access(const async::TensorAccess& a);
    void reduce_loaded(const async::TensorStatistic& how, std::vector<uint32_t> loaded);
    Step tensor_work(const TensorWork& work);
    Step tensor_commit(const async::TensorCommit& c);

    // sass_async.cpp
    using MapBytes = std::array<std::byte, 128>;
    Step async(const SassEffects& e);
    Step wait_groups(const SassEffects& e);
    Step lane_copy(const LaneCopy& c);
    Step copies_barrier(const SassEffects& e);
    Step lane_store(const LaneStore& c);
    Step bulk_copy(const BulkCopy& c);
    Step tensor_copy(const TensorCopy& c);
    std::vector<Place> elements(const Place& to, AtomicType type);
    void reduce_runs(Agent& a, const Receiver& r, AtomicOp how, AtomicType type);
    bool read_map(uint64_t address, MapBytes& map);
    bool add_piece(Receiver& r, bool from_near, uint64_t from, bool to_near, uint64_t to,
                   uint64_t bytes, uint64_t alignment);
    bool add_masked(Receiver& r, const BulkCopy& c);
    bool add_receivers(const Completion& c, uint32_t to, const std::vector<CopyRun>& runs,
                       bool from_global, uint64_t bytes, std::vector<Receiver>& out);
    Step map_fence(uint64_t address);

    const SassProgram& sass_ = *test_.sass;
    const SassThread& at_ = sass_.thread(thread_);
    const SassCode& code_ = sass_.code(at_.launch);
    const uint32_t pc_ = self_.pc, lane_ = at_.thread % 32;
    const SassInstruction& i_ = code_.at(std::min(pc_, code_.count() - 1));
    std::vector<uint64_t> in_;  // of its inputs, in the order of `reads`; 0 while open
    Events guard_reads_,
        input_reads_;                  // what they depend on; of stored values not
    std::optional<uint32_t> unknown_;  // the first input that is open
    bool open_guard_ = false;
};

}  // namespace sassemu::explore
