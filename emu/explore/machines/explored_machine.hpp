// SPDX-License-Identifier: Apache-2.0
// A machine of the SDK (sdk/include/sassemu/machine.h) as exploration holds it: `flat`, which is
// built in, or a plugin's. What belongs here: its table, its states as values. What does not: the
// threads that it serves (machine_states.hpp).
#pragma once

#include <sassemu/machine.h>

#include <memory>
#include <string>
#include <vector>

#include "emu/base/result.hpp"
#include "emu/plugin/hooks.hpp"

namespace sassemu::explore {

class ExploredMachine {
  public:
    // `flat`, or a plugin that has the role, by name or file; options "k=v,k=v".
    static Result<std::unique_ptr<ExploredMachine>> open(const std::string& model,
                                                         const std::string& options);
    // Whether the model can be explored as a machine. Errors: the plugin cannot be loaded.
    static Result<bool> is_one(const std::string& model);

    const std::string& name() const { return name_; }
    bool late_loads() const { return table_->flags & SASSEMU_MACHINE_LATE_LOADS; }
    bool symmetric() const { return table_->flags & SASSEMU_MACHINE_SYMMETRIC; }
    bool scoped() const { return table_->flags & SASSEMU_MACHINE_SCOPED; }
    // Accesses of global memory pass something on their way, of which bytes say nothing.
    bool has_stations() const { return !scoped() && name_ != "flat"; }
    // Of a machine with stations it is known which (own_bytes.hpp).
    bool has_sectors() const { return sectors_; }
    const sassemu_machine& table() const { return *table_; }
    void* self() const { return self_; }
    // It threw, or reported something: its states say nothing.
    bool failed() const { return hooks_ && hooks_->findings(); }

    class State {
      public:
        State(const ExploredMachine& machine, const std::vector<sassemu_place>& places);
        State(const State& other);
        State(State&& other) noexcept : machine_(other.machine_), p_(other.p_) {
            other.p_ = nullptr;
        }
        State& operator=(State other) noexcept {
            std::swap(p_, other.p_);
            machine_ = other.machine_;
            return *this;
        }
        ~State() {
            if (p_) machine_->table().drop(machine_->self(), p_);
        }

        uint32_t ways(const sassemu_bytes& b, const sassemu_operation& o) const;
        void perform(const sassemu_bytes& b, const sassemu_operation& o, uint32_t way,
                     void* value) {
            t().perform(self(), p_, &b, &o, way, value);
        }
        std::vector<uint64_t> steps() const;  // whose operation each belongs to
        void take(const sassemu_bytes& b, uint32_t step) { t().take(self(), p_, &b, step); }
        uint64_t held() const { return t().held(self(), p_); }
        void launch() {
            if (t().launch) t().launch(self(), p_);
        }
        void key(std::string& out) const;

      private:
        const sassemu_machine& t() const { return machine_->table(); }
        void* self() const { return machine_->self(); }

        const ExploredMachine* machine_;
        void* p_;
    };

  private:
    std::string name_;
    bool sectors_ = false;
    const sassemu_machine* table_ = nullptr;
    void* self_ = nullptr;
    std::unique_ptr<Hooks> hooks_;  // the plugin's session
};

}  // namespace sassemu::explore
