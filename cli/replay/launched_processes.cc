#include "cli/program/launched_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/program/launched_rank.h"
#include "cli/replay/rank_watch.h"
#include "cli/replay/start_mpi.h"
#include "collectives/communicator.h"
#include "core/parallel.h"

namespace reprise {
namespace {

// For how long another process of the host may be stopped. One that works may take any time.
constexpr std::int64_t kStoppedMostNs = 60'000'000'000;

class MpiProcesses final : public LaunchedProcesses {
 public:
  MpiProcesses(std::unique_ptr<RankWatch> watch, std::unique_ptr<Communicator> communicator)
      : watch_(std::move(watch)), communicator_(std::move(communicator)) {}

  [[nodiscard]] int index() const override { return communicator_->rank(); }
  [[nodiscard]] int count() const override { return communicator_->size(); }

  // A digit before what is said: 0, or the kind of error.
  Result<std::vector<std::string>> Exchange(const Result<std::string>& mine) override {
    REPRISE_TRY(agreed_);
    const std::string said =
        mine ? "0" + *mine
             : fmt::format("{}{}{}{}", static_cast<int>(mine.error().kind), mine.error().message,
                           kHostFollows, communicator_->host());
    Result<std::vector<std::string>> all = communicator_->AllGather(said);
    if (!all) {
      agreed_ = tl::unexpected<Error>(all.error());
      return all;
    }
    const auto failed = [](const std::string& of) { return of.front() != '0'; };
    const auto first = std::ranges::find_if(*all, failed);
    if (first == all->end()) {
      for (std::string& of : *all) {
        of.erase(0, 1);
      }
      return all;
    }
    const auto message = [](const std::string& of) {
      return of.substr(1, of.rfind(kHostFollows) - 1);
    };
    const auto kind = static_cast<ErrorKind>(first->front() - '0');
    // What all find alike, or any would, needs no place.
    const bool anywhere = kind == ErrorKind::kUsage || message(*first).empty() ||
                          std::ranges::all_of(*all, [&](const std::string& of) {
                            return failed(of) && message(of) == message(*first);
                          });
    agreed_ =
        Fail(kind, anywhere ? message(*first)
                            : fmt::format("process {} of {}, on {}: {}", first - all->begin(),
                                          count(), first->substr(first->rfind(kHostFollows) + 1),
                                          message(*first)));
    return tl::unexpected<Error>(agreed_.error());
  }

  void End(int exit_code) override {
    if (exit_code != 0) {
      communicator_->AbortNow(exit_code, {});
    }
    communicator_.reset();
    watch_.reset();
  }

 private:
  static constexpr char kHostFollows = '\n';

  std::unique_ptr<RankWatch> watch_;
  std::unique_ptr<Communicator> communicator_;
  Status agreed_;
};

}  // namespace

Result<std::unique_ptr<LaunchedProcesses>> JoinLaunchedProcesses(const CommandContext& context) {
  auto watch = std::make_unique<RankWatch>(FindLaunchedRank(), kStoppedMostNs, "");
  // Open MPI asks hwloc for the machine's devices, which takes a while where a plug-in asks OpenCL.
  setenv("HWLOC_COMPONENTS", "-opencl", 0);
  REPRISE_ASSIGN(auto communicator, StartMpi(context));
  watch->MpiStarted();
  // Those of one host share its cores, unless each is bound to some.
  const auto cores = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
  LimitOwnCores(std::max(cores / std::max(communicator->local_size(), 1), 1));
  return std::make_unique<MpiProcesses>(std::move(watch), std::move(communicator));
}

}  // namespace reprise
