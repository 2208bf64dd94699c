// SPDX-License-Identifier: Apache-2.0
// Asks a consistency model about an execution. What belongs here: State -> SassemuGraph -> answer,
// and where models come from. What does not: the models (plugins).
#pragma once

#include <memory>

#include "emu/explore/graph/state.hpp"
#include "emu/plugin/plugin_file.hpp"

namespace sassemu::explore {

struct Answer {
    bool consistent = false;
    std::string axiom, clause;
    std::vector<uint32_t> cycle;
    // Pairs that must still be ordered, all that the model names, directed such that all of them
    // together make no circle.
    std::vector<SassemuEdge> open;
    std::vector<uint8_t> coherence, causality, base;  // n * n; only when asked for
};

class Judge {
  public:
    Judge() = default;
    Judge(const Judge&) = delete;
    Judge& operator=(const Judge&) = delete;
    ~Judge();

    // `name` of a plugin (ptx; loaded as every plugin is, plugin_file.hpp), of another model that
    // one has (ptx60, ptx75-proxy), or the path of one; options "k=v,k=v".
    static Result<std::unique_ptr<Judge>> open(const std::string& name, const std::string& options);

    // Whether a plugin has that name, or a model of it.
    static bool knows(const std::string& name);

  private:
    friend class JudgedGraph;
    const SassemuConsistencyModel* model_ = nullptr;
    void* self_ = nullptr;
    PluginFile file_;
};

// An execution under construction as its model sees it. What its reads take, and what was chosen,
// may change from question to question; nothing else of it.
class JudgedGraph {
  public:
    JudgedGraph(const Judge& judge, const State& s);
    JudgedGraph(const JudgedGraph&) = delete;
    JudgedGraph& operator=(const JudgedGraph&) = delete;
    ~JudgedGraph();

    // Whether the state has these events and edges, if it came from the one before by choices.
    bool fits(const State& s) const;
    // Errors: the model could not read the graph.
    Result<Answer> ask(const State& s, int32_t complete, bool relations = false);
    // Whether accesses overlap that are not of the same bytes.
    bool mixed_sizes();

  private:
    std::array<size_t, 6> sizes(const State& s) const;

    const Judge& judge_;
    std::vector<SassemuEvent> events_;
    std::vector<SassemuEdge> data_, control_, rmw_, pairing_, spawn_, agent_order_, completion_;
    std::vector<SassemuReadsFrom> from_;
    std::vector<SassemuEdge> open_;
    SassemuGraph graph_{};
    void* begun_ = nullptr;
    std::optional<bool> mixed_sizes_;
};

}  // namespace sassemu::explore
