// Results inferred from inputs, against the results that captures recorded.
#include "converters/pytorch/results/infer_results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "converters/pytorch/host/host_trace.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

// The bundled host traces; REPRISE_HOST_TRACES=DIR adds what lies below DIR.
std::vector<fs::path> HostTraces() {
  std::vector<fs::path> roots = {fs::path(REPRISE_SOURCE_DIR) / "traces"};
  if (const char* more = std::getenv("REPRISE_HOST_TRACES")) {
    roots.emplace_back(more);
  }
  std::set<fs::path> files;
  for (const fs::path& root : roots) {
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename();
      const bool host_trace = name.ends_with(".et.json.gz") || name.ends_with(".et.json");
      if (entry.is_regular_file() && host_trace) {
        files.insert(entry.path());
      }
    }
  }
  return {files.begin(), files.end()};
}

bool OnGpu(const ValueList& values) {
  for (const Value& value : values) {
    const TensorDesc* tensor = value.AsTensor();
    if (tensor != nullptr && tensor->storage_id != 0 && !tensor->device.empty() &&
        tensor->device != "cpu") {
      return true;
    }
  }
  return false;
}

std::string Text(const Value& value) {
  const TensorDesc* t = value.AsTensor();
  return t == nullptr
             ? "none"
             : fmt::format("{} [{}] strides [{}] storage {}", Name(t->dtype),
                           fmt::join(t->shape, ", "), fmt::join(t->strides, ", "), t->storage_id);
}

// What a dimension of one element, or a tensor without elements, has as stride does not matter.
bool SameStrides(const TensorDesc& a, const TensorDesc& b) {
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] > 1 && a.elements > 0 && a.strides[i] != b.strides[i]) {
      return false;
    }
  }
  return true;
}

bool Agrees(const Value& inferred, const Value& recorded, bool strides) {
  const TensorDesc* a = inferred.AsTensor();
  const TensorDesc* b = recorded.AsTensor();
  if (a == nullptr) {
    return true;  // nothing is claimed
  }
  return b != nullptr && a->dtype == b->dtype && a->shape == b->shape &&
         (!strides || SameStrides(*a, *b)) &&
         (a->storage_id == 0 || a->storage_id == b->storage_id);
}

struct Score {
  std::uint64_t calls = 0, claimed = 0, agreed = 0;
  std::string example;
};

void Compare(const HostNode& node, bool strides, std::map<std::string, Score>& scores) {
  Score& score = scores[*node.name];
  ++score.calls;
  const auto inferred =
      InferResults({.name = *node.name, .inputs = node.inputs, .on_gpu = OnGpu(node.inputs)});
  if (!inferred) {
    return;
  }
  ++score.claimed;
  bool agrees = inferred->size() == node.outputs.size();
  std::string texts;
  for (std::size_t i = 0; i < inferred->size(); ++i) {
    const Value recorded = i < node.outputs.size() ? node.outputs[i] : Value{};
    agrees = agrees && Agrees((*inferred)[i], recorded, strides);
    texts += fmt::format("; {} for {}", Text((*inferred)[i]), Text(recorded));
  }
  score.agreed += agrees ? 1 : 0;
  if (!agrees && score.example.empty()) {
    score.example = fmt::format("node {}{}", node.id, texts);
    for (const Value& value : node.inputs) {
      score.example += "\n    given " + Text(value);
    }
  }
}

TEST(InferResults, AgreeWithEveryResultThatACaptureRecorded) {
  std::map<std::string, Score> scores;
  for (const fs::path& path : HostTraces()) {
    Diagnostics diagnostics;
    const auto source = TextSource::Open(path);
    ASSERT_TRUE(source) << source.error().message;
    const auto host = ReadHostTrace(**source, diagnostics);
    ASSERT_TRUE(host) << path << ": " << host.error().message;
    const bool strides = host->schema.starts_with("1.1.1");  // earlier ones have none
    for (const HostNode& node : host->nodes) {
      if (!node.outputs.empty() && node.scope == Scope::kFunction) {
        Compare(node, strides, scores);
      }
    }
  }
  std::uint64_t claimed = 0;
  for (const auto& [name, score] : scores) {
    if (score.claimed > 0) {
      fmt::print("{:60} {:7} calls {:7} inferred {:7} agree\n", name, score.calls, score.claimed,
                 score.agreed);
    }
    EXPECT_EQ(score.agreed, score.claimed) << name << ": " << score.example;
    claimed += score.claimed;
  }
  EXPECT_GT(claimed, 10'000U);
}

}  // namespace
}  // namespace reprise::pytorch
