#include "replayer/ranks_of_process.h"

#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace reprise {

tl::expected<ReplayOutcome, ReplayFailure> ReplayRanksOfProcess(const ReplayRequest& request,
                                                                Communicator& processes, int ranks,
                                                                const ReplayRank& replay) {
  auto communicators = CreateFoldedCommunicators(processes, ranks);
  if (!communicators) {
    return tl::unexpected<ReplayFailure>({communicators.error(), false});
  }
  using Outcome = tl::expected<ReplayOutcome, ReplayFailure>;
  std::vector<std::optional<Outcome>> outcomes(communicators->size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t place = 0; place < outcomes.size(); ++place) {
      threads.emplace_back(
          [&, place] { outcomes[place] = replay(request, *(*communicators)[place]); });
    }
  }
  Outcome outcome = *outcomes.front();
  if (!outcome && outcome.error().while_running) {
    // What Replay has left alive still refers to them; the process ends soon.
    for (auto& communicator : *communicators) {
      static_cast<void>(communicator.release());
    }
  }
  return outcome;
}

}  // namespace reprise
