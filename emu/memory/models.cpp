// SPDX-License-Identifier: Apache-2.0
// The built-in test models of the port. "delay" is a null agent: it holds every load for some steps
// and then lets it happen. "peer" is a null peer: every load takes a round trip through another
// thread's Boost.Asio queue. Both keep the engine's split-phase paths honest from the first day.
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <charconv>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "emu/base/lend_thread.hpp"
#include "emu/machine/cta.hpp"
#include "emu/memory/models.hpp"

namespace sassemu {

namespace {

class Delay : public MemoryModel {
  public:
    Delay(uint64_t steps, uint64_t seed) : steps_(steps), state_(seed * 2 + 1) {}
    std::string_view name() const override { return "delay"; }
    PortAnswer issue(const Access& access, uint64_t token) override {
        if (access.op != AccessOp::load) return PortAnswer::done;
        // Different loads wait differently long, so that they complete out of order.
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        held_.push_back({token, access.lanes, access.warp->cta, 1 + (state_ >> 33) % steps_});
        return PortAnswer::pending;
    }
    uint64_t step(PortHost& host, const void* cta) override {
        uint64_t left = 0;
        for (size_t i = 0; i < held_.size();) {
            Held& h = held_[i];
            if (cta && h.cta != cta) {
                ++i;
                continue;
            }
            if (--h.steps > 0) {
                ++left;
                ++i;
                continue;
            }
            const Held due = h;
            held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
            // Half of the lanes first: completion is per lane.
            host.complete(due.token, due.lanes & 0x55555555u);
            host.complete(due.token, due.lanes & 0xaaaaaaaau);
        }
        return left;
    }

  private:
    struct Held {
        uint64_t token;
        uint32_t lanes;
        const void* cta;
        uint64_t steps;
    };
    uint64_t steps_, state_;
    std::vector<Held> held_;
};

class NullPeer : public MemoryModel {
  public:
    NullPeer()
        : work_(boost::asio::make_work_guard(io_)), thread_(lend_thread([this] { io_.run(); })) {}
    ~NullPeer() override {
        work_.reset();
        io_.stop();
        if (thread_.joinable()) thread_.join();
    }
    bool lives() const { return thread_.joinable(); }
    std::string_view name() const override { return "peer"; }
    PortAnswer issue(const Access& access, uint64_t token) override {
        if (access.op != AccessOp::load) return PortAnswer::done;
        ++held_;
        const Answer answer{token, access.lanes, access.warp->cta};
        boost::asio::post(io_, [this, answer] {
            const std::lock_guard guard(mutex_);
            answers_.push_back(answer);
        });
        return PortAnswer::pending;
    }
    uint64_t step(PortHost& host, const void* cta) override {
        std::deque<Answer> now;
        {
            const std::lock_guard guard(mutex_);
            for (size_t i = 0; i < answers_.size();) {
                if (cta && answers_[i].cta != cta) {
                    ++i;
                    continue;
                }
                now.push_back(answers_[i]);
                answers_.erase(answers_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        for (const Answer& a : now) {
            host.complete(a.token, a.lanes);
            --held_;
        }
        if (now.empty() && held_) std::this_thread::yield();
        return held_;
    }

  private:
    struct Answer {
        uint64_t token;
        uint32_t lanes;
        const void* cta;
    };
    boost::asio::io_context io_;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::mutex mutex_;
    std::deque<Answer> answers_;
    uint64_t held_ = 0;
    std::thread thread_;  // last: it uses everything above
};

}  // namespace

Result<std::unique_ptr<MemoryModel>> make_model(std::string_view spec, uint64_t seed) {
    const size_t colon = spec.find(':');
    const std::string_view name = spec.substr(0, colon);
    std::string_view options = colon == std::string_view::npos ? "" : spec.substr(colon + 1);
    const std::string where = "model '" + std::string(spec) + "'";
    if (name == "flat" && options.empty()) return std::unique_ptr<MemoryModel>();
    if (name == "peer" && options.empty()) {
        auto peer = std::make_unique<NullPeer>();
        if (!peer->lives())
            return Error{ErrorCode::system, where, "the host has no thread for it", ""};
        return std::unique_ptr<MemoryModel>(std::move(peer));
    }
    if (name == "delay") {
        uint64_t steps = 3;
        if (!options.empty()) {
            constexpr std::string_view key = "steps=";
            const char* end = options.data() + options.size();
            if (options.substr(0, key.size()) != key ||
                std::from_chars(options.data() + key.size(), end, steps).ptr != end || steps == 0)
                return Error{ErrorCode::usage, where, "bad option '" + std::string(options) + "'",
                             "the option is steps=N with N >= 1"};
        }
        return std::unique_ptr<MemoryModel>(std::make_unique<Delay>(steps, seed));
    }
    return Error{ErrorCode::usage, where, "no such memory model",
                 "built in: flat, delay[:steps=N], peer"};
}

}  // namespace sassemu
