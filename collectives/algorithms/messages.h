// The messages of a collective without its data: for schedules that others carry out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collectives/algorithms/algorithm_choices.h"
#include "core/comm.h"
#include "core/result.h"

namespace reprise {

struct PlannedMessage {
  bool sends = false;
  std::int32_t peer = 0;   // rank
  std::int64_t bytes = 0;  // 0: a signal
};

// Of one member, by channel its rounds: the messages of one are under way at once, the next begins
// when they are over. Channels do not wait for each other.
using MemberMessages = std::vector<std::vector<std::vector<PlannedMessage>>>;

// What the choices say for a collective among `ranks`, each on a host of its own.
[[nodiscard]] std::optional<AlgorithmChoice> ChoiceFor(const AlgorithmChoices& choices,
                                                       const CommSpec& spec,
                                                       std::span<const std::int32_t> ranks);

// Of the member ranks[position], whose part `spec` is; requires that the choice's algorithm
// supports the kind. At most `most` messages, sent and received; more are a usage error. Bad input:
// sizes or root that contradict themselves or the group.
[[nodiscard]] Result<MemberMessages> MessagesOfMember(CommSpec spec,
                                                      std::span<const std::int32_t> ranks,
                                                      int position, const AlgorithmChoice& choice,
                                                      std::uint64_t most);

}  // namespace reprise
