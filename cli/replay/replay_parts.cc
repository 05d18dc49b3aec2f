#include "cli/program/replay_parts.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "collectives/communicator.h"
#include "core/json_fields.h"
#include "kernels/backend.h"
#include "kernels/kernel.h"

namespace reprise {
namespace {

// Element types of a kernel's samples, in the order of core/dtype.h: what it is checked with.
std::set<DType> TypesOf(const Kernel& kernel) {
  std::set<DType> types;
  for (const OpCall& call : kernel.Samples()) {
    for (const ValueList* values : {&call.inputs, &call.outputs}) {
      for (const TensorDesc* tensor : TensorsIn(*values)) {
        types.insert(tensor->dtype);
      }
    }
  }
  return types;
}

}  // namespace

ReplayParts PartsOfReplay() {
  return {.parts = "all",
          .mpi = MpiLibraryVersion(),
          .libraries = REPRISE_REPLAY_LIBRARIES,
          .backends = BackendNames(),
          .find_kernel = FindBuiltinKernel};
}

void EndLaunchedRanks(int exit_code) {
  // A rank that does not come to MPI's start is no reason to hang.
  constexpr std::chrono::seconds kForOthers{10};
  std::thread([exit_code, seconds = kForOthers] {
    std::this_thread::sleep_for(seconds);
    std::_Exit(exit_code);
  }).detach();
  EndMpiJob(exit_code);
}

Json ListKernels() {
  Json rows = Json::array();
  for (const auto& kernel : KernelRegistry::Builtin().all()) {
    rows.push_back({{"name", kernel->name()},
                    {"operators", kernel->operators()},
                    {"dtypes", TypesOf(*kernel)}});
  }
  return rows;
}

Json ListBackends() {
  Json rows = Json::array();
  for (const auto& backend : Backends()) {
    Json options = Json::array();
    for (const BackendSetting& setting : backend->settings()) {
      options.push_back(fmt::format("--{}", setting.name));
    }
    rows.push_back({{"name", backend->name()}, {"help", backend->about()}, {"options", options}});
  }
  return rows;
}

}  // namespace reprise
