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
    bool has_open = false;
    SassemuEdge open{};
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

    // Errors: the model could not read the graph.
    Result<Answer> operator()(const State& s, bool complete, bool relations = false) const;

  private:
    const SassemuConsistencyModel* model_ = nullptr;
    void* self_ = nullptr;
    PluginFile file_;
};

}  // namespace sassemu::explore
