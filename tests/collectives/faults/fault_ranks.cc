// One rank of a run that goes wrong; faults_test.cc starts it under mpirun and looks at how it
// ends.
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "collectives/communicator.h"

// MPI's plug-ins leak and are unloaded before the leak sanitizer could name them for a suppression.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }  // NOLINT

namespace reprise {
namespace {

// Tests until the transfer ends; the fault makes sure that it does not end well.
Status Await(Transfer& transfer) {
  while (true) {
    REPRISE_ASSIGN(const bool done, transfer.Test());
    if (done) {
      return {};
    }
  }
}

Status Transferring(Communicator& communicator) {
  std::vector<std::int32_t> ranks;
  for (int i = 0; i < communicator.size(); ++i) {
    ranks.push_back(i);
  }
  REPRISE_ASSIGN(const auto group, communicator.CreateGroup(ranks));
  if (communicator.rank() == communicator.size() - 1) {
    return {};  // the one at fault
  }
  constexpr std::int64_t kBytes = 8 << 20;
  std::vector<std::byte> memory(kBytes);
  const CommSpec spec{.kind = CommKind::kAllReduce,
                      .dtype = DType::kFloat32,
                      .in_bytes = kBytes,
                      .out_bytes = kBytes};
  REPRISE_ASSIGN(const auto transfer, group->Start(spec, memory, memory));
  return Await(*transfer);
}

Status Run(Communicator& communicator, const std::string& fault) {
  const bool at_fault = communicator.rank() == communicator.size() - 1;
  Status status;
  if (fault == "absent") {
    if (at_fault) {
      std::this_thread::sleep_for(std::chrono::minutes(2));
      return {};
    }
    communicator.SetPatience(1'500'000'000);
    return communicator.Agree({});
  }
  if (fault == "barrier") {
    status = at_fault ? Status() : communicator.Barrier();
  } else {
    status = Transferring(communicator);
  }
  if (at_fault) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (fault == "killed") {
      (void)raise(SIGKILL);
    }
    if (fault != "leaves") {
      communicator.RaiseAbort(Error{ErrorKind::kEnvironment, "disk full"});
      status = tl::unexpected<Error>(communicator.PollAbort().value());
    }
  }
  return status;
}

int Main(int argc, char** argv) {
  auto communicator = CreateMpiCommunicator(nullptr, nullptr);
  if (!communicator || argc != 2) {
    return 9;
  }
  const std::string fault = argv[1];
  const Status status = Run(**communicator, fault);
  if (status) {
    return 0;
  }
  std::fprintf(stderr, "rank %d sees: %s\n", (*communicator)->rank(),
               status.error().message.c_str());
  const int exit_code = static_cast<int>(status.error().kind);
  if (fault != "destructor") {
    (*communicator)->AbortNow(exit_code, {});
  }
  return exit_code;
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) { return reprise::Main(argc, argv); }
