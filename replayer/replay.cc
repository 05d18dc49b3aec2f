#include "replayer/replay.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "replayer/engine/exceptions.h"
#include "replayer/session.h"

namespace reprise {
namespace {

struct Stage {
  Status (Session::*run)();
  const char* what;
};

// All ranks pass these together: each ends with an agreement, so none runs into a hang alone.
constexpr Stage kPreparation[] = {
    {&Session::OpenTrace, "reading the trace"},
    {&Session::PlanWork, "planning"},
    {&Session::CreateGroups, "creating process groups"},
    {&Session::MatchRanks, "matching transfers across ranks"},
    {&Session::ChooseAlgorithms, "measuring collectives"},
    {&Session::OpenDevice, "opening the device"},
    {&Session::EstimateCost, "estimating time and memory"},
    {&Session::AllocateMemory, "allocating memory"},
    {&Session::ConnectDevices, "connecting devices"},
    {&Session::PrepareEngine, "compiling kernels"},
    {&Session::WarnOfUnknownWork, "adding up what can run"},
    {&Session::CreateRunDirectory, "creating the run directory"},
    {&Session::BeginRecording, "starting the recording"},
    {&Session::WritePreliminaryManifest, "writing the manifest"},
    {&Session::CompareClocks, "comparing the hosts' clocks"},
    {&Session::MeasureIdle, "measuring idle power"},
};

// A rank without memory or threads notifies the others, which may be waiting for it within the
// stage.
Status Passed(Session& session, const Stage& stage, Communicator& communicator) {
  try {
    return (session.*stage.run)();
  } catch (const std::exception& exception) {
    const Error failed = ErrorOf(exception, fmt::format("while {}", stage.what));
    communicator.RaiseAbort(failed);
    return tl::unexpected<Error>(failed);
  }
}

}  // namespace

ReplayResult Replay(const ReplayRequest& request, Communicator& communicator) {
  const auto failure = [](const Status& status, bool while_running) {
    return tl::unexpected<ReplayFailure>({status.error(), while_running});
  };
  // Reading and compiling elsewhere, or a longer step, keeps a rank waiting without any fault.
  constexpr std::int64_t kPatienceOverWatchdog = 10;
  communicator.SetPatience(kPatienceOverWatchdog * request.options.watchdog_ns);
  auto session = std::make_unique<Session>(request, communicator);
  for (const Stage& stage : kPreparation) {
    if (request.progress && communicator.rank() == 0) {
      request.progress({.stage = stage.what});
    }
    if (const Status agreed = communicator.Agree(Passed(*session, stage, communicator)); !agreed) {
      return failure(agreed, false);
    }
  }
  // Here the watchdog looks after all ranks: a rank may wait for a slow one as long as it takes.
  communicator.SetPatience(-1);
  const Status ran = Passed(*session, {&Session::RunIterations, "running"}, communicator);
  communicator.SetPatience(kPatienceOverWatchdog * request.options.watchdog_ns);
  if (!ran) {
    communicator.RaiseAbort(ran.error());
    session->RecordFailure(ran.error());
    // What was recorded up to here stays readable.
    static_cast<void>(session->EndRecording());
    // Left alive on purpose: transfers under way still write into its memory, and the caller's next
    // step is to end the process (Communicator::AbortNow).
    static_cast<void>(session.release());
    return failure(ran, true);
  }
  if (const Status agreed = communicator.Agree(session->EndRecording()); !agreed) {
    return failure(agreed, false);
  }
  if (const Status agreed = communicator.Agree(session->WriteSummary()); !agreed) {
    return failure(agreed, false);
  }
  return session->Outcome();
}

ReplayResult ReplayRanksOfProcess(const ReplayRequest& request, Communicator& processes,
                                  int ranks) {
  auto communicators = CreateThreadedCommunicators(processes, ranks);
  if (!communicators) {
    return tl::unexpected<ReplayFailure>({communicators.error(), false});
  }
  std::vector<std::optional<ReplayResult>> outcomes(communicators->size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t place = 0; place < outcomes.size(); ++place) {
      threads.emplace_back(
          [&, place] { outcomes[place] = Replay(request, *(*communicators)[place]); });
    }
  }
  ReplayResult outcome = *outcomes.front();
  for (std::size_t place = 1; place < outcomes.size() && outcome; ++place) {
    const ReplayResult& other = *outcomes[place];
    if (other) {
      outcome->ranks.insert(outcome->ranks.end(), other->ranks.begin(), other->ranks.end());
    }
  }
  if (!outcome && outcome.error().while_running) {
    // What Replay has left alive still refers to them; the process ends soon.
    for (auto& communicator : *communicators) {
      static_cast<void>(communicator.release());
    }
  }
  return outcome;
}

}  // namespace reprise
