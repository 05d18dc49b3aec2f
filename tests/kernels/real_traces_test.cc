// The bundled captures: every operation that computes has a kernel that runs it as it was recorded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "converters/converter.h"
#include "et_schema/trace_set.h"
#include "tests/kernels/harness.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Directories that hold rank files.
std::vector<std::string> Captures() {
  std::vector<std::string> captures;
  for (const auto& entry : fs::recursive_directory_iterator(REPRISE_SOURCE_DIR "/traces")) {
    if (entry.path().filename() == "rank0.et.json.gz") {
      captures.push_back(entry.path().parent_path());
    }
  }
  return captures;
}

TEST(RealTraces, EveryWorkOperationHasAKernel) {
  const fs::path out =
      fs::temp_directory_path() / ("reprise_real_traces_" + std::to_string(getpid()));
  ASSERT_FALSE(Captures().empty());
  std::map<std::string, std::string> missing;
  std::uint64_t operations = 0;
  // Kernels of a device without arguments are parts of an operation whose longest kernel has them.
  std::set<std::pair<std::string, std::int64_t>> parts;
  std::set<std::pair<std::string, std::int64_t>> wholes;
  for (const std::string& capture : Captures()) {
    ConvertRequest request{.input_directory = capture, .output_directory = out, .force = true};
    const auto report = FindConverter("pytorch")->convert(request);
    ASSERT_TRUE(report) << report.error().message;
    for (const ConvertedRank& rank : report->ranks) {
      const auto graph = Graph::Load(rank.path);
      ASSERT_TRUE(graph) << graph.error().message;
      for (Graph::Index i = 0; i < graph->size(); ++i) {
        // Compiled code names no operator: it is always timed.
        if (graph->kind(i) != OpKind::kWork || graph->op_class(i) == OpClass::kCompiled) {
          continue;
        }
        const auto call = graph->Call(i);
        ASSERT_TRUE(call) << call.error().message;
        if (graph->device_work(i) != nullptr) {
          const bool is_part = call->inputs.empty() && call->outputs.empty();
          const bool copies = graph->device_work(i)->copied_bytes >= 0;
          (is_part && !copies ? parts : wholes).insert({rank.path, graph->rf_id(i)});
          if (is_part) {
            continue;
          }
        }
        ++operations;
        if (KernelRegistry::Builtin().Find(*call) == nullptr) {
          missing[call->name] = capture + ": " + Describe(*call);
        }
      }
    }
    fs::remove_all(out);
  }
  EXPECT_GT(operations, 1000U);
  EXPECT_GT(parts.size(), 100U);
  EXPECT_TRUE(std::includes(wholes.begin(), wholes.end(), parts.begin(), parts.end()));
  for (const auto& [name, example] : missing) {
    ADD_FAILURE() << "no kernel for " << name << ", e.g. " << example;
  }
}

}  // namespace
}  // namespace reprise
