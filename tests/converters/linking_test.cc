// The two files of a rank linked without record-function ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "converters/converter.h"
#include "converters/pytorch/host_trace.h"
#include "converters/pytorch/kineto.h"
#include "converters/pytorch/operations.h"
#include "synthetic_capture.h"

namespace reprise::pytorch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Without(std::string text, const std::string& key) {
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at)) {
    text.replace(at, key.size(), std::string(key.size(), '-'));
  }
  return text;
}

struct Pair {
  HostTrace host;
  KinetoTrace kineto;
};

Pair Parse(const std::string& host, const std::string& kineto) {
  Diagnostics ignored;
  auto h = ReadHostTrace(TextFile::FromText("host", host), ignored);
  auto k = ReadKineto(TextFile::FromText("kineto", kineto), ignored);
  EXPECT_TRUE(h) << h.error().message;
  EXPECT_TRUE(k) << k.error().message;
  return {std::move(*h), std::move(*k)};
}

// Host node by event.
std::vector<std::int32_t> Links(const OperationList& list, const KinetoTrace& kineto) {
  std::vector<std::int32_t> out(kineto.events.size(), -1);
  for (const Operation& op : list.operations) {
    out[static_cast<std::size_t>(op.event)] = op.host;
  }
  return out;
}

class Linking : public ::testing::TestWithParam<std::string> {};

// Every bundled capture has ids: what order alone finds must be what they say.
TEST_P(Linking, OrderFindsWhatIdsSay) {
  const std::string directory = std::string(REPRISE_SOURCE_DIR) + "/traces/" + GetParam();
  for (int rank = 0; rank < 2; ++rank) {
    const std::string stem = directory + "/rank" + std::to_string(rank);
    if (!std::filesystem::exists(stem + ".et.json.gz")) {
      continue;
    }
    const auto host_file = TextFile::Read(stem + ".et.json.gz");
    const auto kineto_file = TextFile::Read(stem + ".kineto.json.gz");
    ASSERT_TRUE(host_file && kineto_file);
    Diagnostics diagnostics;
    const Pair ids = Parse(std::string(host_file->text()), std::string(kineto_file->text()));
    const auto by_id =
        LinkOperations(ids.host, ids.kineto, RepeatChoice::kRecorded, stem, diagnostics);
    ASSERT_TRUE(by_id) << by_id.error().message;
    EXPECT_EQ(by_id->link.method, "record function id");
    for (const bool ordered : {true, false}) {
      std::string text = Without(std::string(kineto_file->text()), "Record function id");
      const Pair bare =
          Parse(std::string(host_file->text()), ordered ? text : Without(text, "Ev Idx"));
      const auto by_order =
          LinkOperations(bare.host, bare.kineto, RepeatChoice::kRecorded, stem, diagnostics);
      ASSERT_TRUE(by_order) << by_order.error().message;
      EXPECT_EQ(by_order->link.method, "alignment");
      EXPECT_EQ(by_order->link.repeats, 1U);
      const auto expected = Links(*by_id, ids.kineto);
      const auto found = Links(*by_order, bare.kineto);
      ASSERT_EQ(expected.size(), found.size());
      int linked = 0;
      int missing = 0;
      int wrong = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        linked += expected[i] >= 0 ? 1 : 0;
        missing += expected[i] >= 0 && found[i] < 0 ? 1 : 0;
        wrong += found[i] >= 0 && found[i] != expected[i] ? 1 : 0;
        if (found[i] != expected[i] && missing + wrong < 6) {
          ADD_FAILURE() << *bare.kineto.events[i].name << " expected " << expected[i] << " found "
                        << found[i];
        }
      }
      EXPECT_EQ(wrong, 0) << "of " << linked << " with order " << ordered << " " << stem;
      EXPECT_EQ(missing, 0) << "of " << linked << " with order " << ordered << " " << stem;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Bundled, Linking,
                         ::testing::Values("gloo/gpt_single", "gloo/gpt_recompute", "gloo/resnet18",
                                           "gloo/gpt_ddp4", "gloo_comms/gpt_tp4",
                                           "gloo_comms/gpt_pp4", "gloo_comms/gpt_fsdp4",
                                           "gloo_comms/moe_ep4", "gloo_comms/collectives4"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace reprise::pytorch
