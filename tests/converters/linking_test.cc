// The two files of a rank linked without record-function ids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "converters/converter.h"
#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/operation_list.h"
#include "converters/text_file.h"
#include "synthetic_capture.h"
#include "text_in_memory.h"

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
  auto h = ReadHostText("host", host, ignored);
  auto k = ReadKinetoText("kineto", kineto, ignored);
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

// A training step on two threads: forward and optimizer on one, backward on the other, `layers`
// layers, written as either file. Names repeat as much as in a real one.
struct Call {
  std::int64_t host_thread = 1;
  std::string name;
  std::int64_t width = 0;    // of its input; 0: no tensor
  std::int64_t seq_id = -1;  // of its forward operation
};

std::vector<Call> StepCalls(int layers, std::int64_t first_seq) {
  std::vector<Call> out;
  for (int i = 0; i < layers; ++i) {
    out.push_back({1, "aten::linear", 8 + i, -1});
    out.push_back({1, "aten::addmm", 8 + i, first_seq + i});
    if (i % 3 == 0) {
      out.push_back({1, "aten::relu", 8 + i, -1});
    }
  }
  for (int i = layers; i-- > 0;) {
    out.push_back({2, "autograd::engine::evaluate_function: AddmmBackward0", 0, first_seq + i});
    out.push_back({2, "AddmmBackward0", 0, first_seq + i});
    out.push_back({2, i % 2 == 0 ? "aten::mm" : "aten::sum", 8 + i, -1});
  }
  for (int i = 0; i < layers; ++i) {
    out.push_back({1, "aten::add_", 8 + i, -1});
  }
  return out;
}

std::string HostText(const std::vector<Call>& calls, std::int64_t process = 7) {
  nlohmann::json nodes = nlohmann::json::array();
  std::int64_t id = 2;
  for (const Call& call : calls) {
    const bool tensor = call.width > 0;
    nodes.push_back(
        {{"name", call.name},
         {"id", ++id},
         {"rf_id", id},
         {"parent", 2},
         {"seq_id", call.seq_id},
         {"scope", 0},
         {"tid", call.host_thread},
         {"fw_tid", 0},
         {"op_schema", ""},
         {"inputs",
          tensor ? nlohmann::json{{id, id, 0, call.width, 4, "cuda:0"}} : nlohmann::json::array()},
         {"input_shapes", tensor ? nlohmann::json{{call.width}} : nlohmann::json::array()},
         {"input_types",
          tensor ? nlohmann::json::array({"Tensor(float)"}) : nlohmann::json::array()},
         {"outputs", nlohmann::json::array()},
         {"output_shapes", nlohmann::json::array()},
         {"output_types", nlohmann::json::array()}});
  }
  // They are written when they end, threads mixed: order in the file means nothing.
  std::reverse(nodes.begin(), nodes.end());
  return nlohmann::json{{"schema", "1.0.1"}, {"pid", process}, {"nodes", nodes}}.dump();
}

class KinetoFile {
 public:
  // The id that HostText gives the call of this position.
  KinetoFile& NumberAll() {
    for (std::size_t i = 0; i < events_.size(); ++i) {
      events_[i]["args"]["Record function id"] = static_cast<std::int64_t>(i) + 3;
    }
    return *this;
  }
  // `us` each, one after the other.
  KinetoFile& Add(const std::vector<Call>& calls, int us = 10) {
    for (const Call& call : calls) {
      nlohmann::json args = {{"Ev Idx", next_++}};
      if (call.width > 0) {
        args["Input Dims"] = {{call.width}};
      }
      if (call.seq_id >= 0) {
        args["Sequence number"] = call.seq_id;
      }
      events_.push_back({{"ph", "X"},
                         {"cat", call.width < 0 ? "user_annotation" : "cpu_op"},
                         {"name", call.name},
                         {"pid", 7},
                         {"tid", 1000 + call.host_thread},
                         {"ts", at_us_},
                         {"dur", us},
                         {"args", args}});
      at_us_ += us;
    }
    return *this;
  }
  KinetoFile& Shuffle(std::size_t a, std::size_t b) {
    std::swap(events_[a]["args"]["Ev Idx"], events_[b]["args"]["Ev Idx"]);
    std::swap(events_[a]["ts"], events_[b]["ts"]);
    return *this;
  }
  KinetoFile& Drop(std::size_t first, std::size_t count) {
    events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(first),
                  events_.begin() + static_cast<std::ptrdiff_t>(first + count));
    return *this;
  }
  [[nodiscard]] std::string Text() const { return nlohmann::json{{"traceEvents", events_}}.dump(); }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  nlohmann::json events_ = nlohmann::json::array();
  std::int64_t next_ = 0, at_us_ = 1000;
};

struct Linked {
  Pair pair;
  Result<OperationList> list;
  Diagnostics diagnostics;
  [[nodiscard]] const LinkReport& link() const { return list->link; }
};

std::unique_ptr<Linked> LinkTexts(const std::string& host, const std::string& kineto,
                                  RepeatChoice choice = RepeatChoice::kRecorded) {
  auto out = std::make_unique<Linked>(Linked{Parse(host, kineto), OperationList{}, {}});
  out->list = LinkOperations(out->pair.host, out->pair.kineto, choice, "rank 0", out->diagnostics);
  return out;
}

// Links whose shapes are known on both sides and not the same.
int ShapesThatDiffer(const Linked& linked) {
  std::map<std::int64_t, std::uint32_t> hashes;  // by the width of the input
  int out = 0;
  for (const Operation& op : linked.list->operations) {
    const HostNode& node = linked.pair.host.nodes[static_cast<std::size_t>(op.host)];
    const KinetoEvent& event = linked.pair.kineto.events[static_cast<std::size_t>(op.event)];
    if (!node.inputs.empty() && event.input_shapes != 0) {
      const std::int64_t width = node.inputs[0].AsTensor()->elements;
      out += hashes.emplace(width, event.input_shapes).first->second != event.input_shapes ? 1 : 0;
    }
  }
  return out;
}

constexpr int kLinkedLayers = 40;
// Of StepCalls(kLinkedLayers, …): forward 2 × 40 + 14, backward 3 × 40, optimizer 40.
constexpr std::uint64_t kCalls = 254;

// Both files show the start of a process group and the observer's frame, which are no records that
// could have a partner: 255 of 254 would be more than all.
TEST(LinkingById, OnlyRecordsThatCouldHaveAPartnerAreMatched) {
  std::vector<Call> calls = StepCalls(kLinkedLayers, 100);
  calls.push_back({1, "## process_group:init ##", 0, -1});
  calls.push_back({1, "[pytorch|profiler|execution_trace|process]", 0, -1});
  const auto linked = LinkTexts(HostText(calls), KinetoFile().Add(calls).NumberAll().Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().method, "record function id");
  EXPECT_EQ(linked->link().host_records, kCalls);
  EXPECT_EQ(linked->link().matched, kCalls);
  for (const LinkReport::Thread& thread : linked->link().threads) {
    EXPECT_EQ(thread.matched, thread.host_records);
  }
}

TEST(LinkingByOrder, SequenceNumbersTellTheRepeat) {
  KinetoFile kineto;
  kineto.Add(StepCalls(kLinkedLayers / 2, 0));  // a warm-up that differs
  for (int step = 0; step < 5; ++step) {
    kineto.Add(StepCalls(kLinkedLayers, 100 + 40 * step));
  }
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 180)), kineto.Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().method, "alignment");
  EXPECT_EQ(linked->link().choice, "sequence numbers");
  EXPECT_EQ(linked->link().repeats, 5U);
  EXPECT_EQ(linked->link().repeat, 3U);
  EXPECT_EQ(linked->link().matched, kCalls);
  EXPECT_EQ(linked->link().host_records, kCalls);
  EXPECT_EQ(linked->link().timed_records, kCalls);
  EXPECT_EQ(linked->diagnostics.CountOf("linked_to_another_step"), 0U);
  // Only that step's events, and the span is theirs.
  ASSERT_EQ(linked->list->operations.size(), kCalls);
  for (const Operation& op : linked->list->operations) {
    const HostNode& node = linked->pair.host.nodes[static_cast<std::size_t>(op.host)];
    const KinetoEvent& event = linked->pair.kineto.events[static_cast<std::size_t>(op.event)];
    EXPECT_EQ(*node.name, *event.name);
    EXPECT_EQ(node.seq_id, event.seq_id);
  }
  const std::int64_t before =
      static_cast<std::int64_t>(StepCalls(kLinkedLayers / 2, 0).size() + 2 * kCalls);
  EXPECT_EQ(linked->list->start_ns, (1000 + before * 10) * 1000);
  EXPECT_EQ(linked->list->end_ns - linked->list->start_ns, std::int64_t{kCalls} * 10'000);
  EXPECT_THAT(linked->link().threads, ElementsAre(LinkReport::Thread{1, 1001, 134, 134, 134},
                                                  LinkReport::Thread{2, 1002, 120, 120, 120}));
}

TEST(LinkingByOrder, WithoutTheRecordedStepTheLastCompleteOneIsTaken) {
  KinetoFile kineto;
  for (int step = 0; step < 4; ++step) {
    kineto.Add(StepCalls(kLinkedLayers, 100 + 40 * step));
  }
  kineto.Drop(kineto.size() - 60, 60);  // the profiler stopped in the last one
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 900)), kineto.Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().choice, "last");
  EXPECT_EQ(linked->link().repeat, 3U);
  EXPECT_EQ(linked->link().matched, kCalls);
  EXPECT_EQ(linked->diagnostics.CountOf("linked_to_another_step"), 1U);
}

TEST(LinkingByOrder, MedianRepeatOnRequest) {
  KinetoFile kineto;
  for (const int us : {50, 12, 10, 11, 14}) {
    kineto.Add(StepCalls(kLinkedLayers, 100), us);
  }
  const std::string host = HostText(StepCalls(kLinkedLayers, 100));
  const auto linked = LinkTexts(host, kineto.Text(), RepeatChoice::kMedian);
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().choice, "median");
  EXPECT_EQ(linked->link().repeat, 2U);
  EXPECT_EQ(linked->link().repeat_ns, std::int64_t{kCalls} * 12'000);
  const auto recorded = LinkTexts(host, kineto.Text());
  EXPECT_EQ(recorded->link().repeat, 1U);
  EXPECT_EQ(recorded->diagnostics.CountOf("repeat_slower_than_median"), 1U);
}

TEST(LinkingByOrder, DisorderedAndMissingEvents) {
  KinetoFile kineto;
  kineto.Add(StepCalls(kLinkedLayers, 100));
  kineto.Shuffle(20, 21).Shuffle(60, 62).Drop(100, 2);
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 100)), kineto.Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().matched, kCalls - 2);
  EXPECT_EQ(linked->diagnostics.CountOf("host_record_without_time"), 2U);
  EXPECT_EQ(linked->link().unmatched.size(), 2U);
  EXPECT_THAT(linked->link().unmatched.front(), HasSubstr("host thread"));
  for (const Operation& op : linked->list->operations) {
    const auto host = static_cast<std::size_t>(op.host);
    EXPECT_EQ(*linked->pair.host.nodes[host].name, *op.name);
  }
}

// Equal names in a row, one of them missing: shapes tell which.
TEST(LinkingByOrder, ShapesDecideAmongEqualNames) {
  KinetoFile kineto;
  kineto.Add(StepCalls(kLinkedLayers, 100));
  kineto.Drop(kCalls - 35, 1);  // an aten::add_ of the optimizer
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 100)), kineto.Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().matched, kCalls - 1);
  EXPECT_THAT(linked->link().unmatched, ElementsAre(HasSubstr("aten::add_")));
  EXPECT_EQ(ShapesThatDiffer(*linked), 0);
}

// The first two changed places.
TEST(LinkingByOrder, DisorderAtTheVeryStart) {
  std::vector<Call> calls = StepCalls(kLinkedLayers, 100);
  std::swap(calls[0], calls[1]);
  const auto linked =
      LinkTexts(HostText(StepCalls(kLinkedLayers, 100)), KinetoFile().Add(calls).Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().matched, kCalls);
}

TEST(LinkingByOrder, SeveralStepsInBothAreOneRepeat) {
  KinetoFile kineto;
  std::vector<Call> host;
  for (int step = 0; step < 3; ++step) {
    const auto calls = StepCalls(kLinkedLayers, 100 + 40 * step);
    host.insert(host.end(), calls.begin(), calls.end());
    kineto.Add(calls);
  }
  const auto linked = LinkTexts(HostText(host), kineto.Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().repeats, 1U);
  EXPECT_EQ(linked->link().matched, 3 * kCalls);
}

// The host trace holds more than the Kineto file: two thirds of it would have no times.
TEST(LinkingByOrder, KinetoHoldsLess) {
  std::vector<Call> host;
  for (int step = 0; step < 3; ++step) {
    const auto calls = StepCalls(kLinkedLayers, 100 + 40 * step);
    host.insert(host.end(), calls.begin(), calls.end());
  }
  const auto linked =
      LinkTexts(HostText(host), KinetoFile().Add(StepCalls(kLinkedLayers, 140)).Text());
  ASSERT_FALSE(linked->list);
  EXPECT_THAT(linked->list.error().message,
              ::testing::HasSubstr("33.3 % of the host trace's records have their times"));
}

TEST(LinkingByOrder, StepAnnotationAroundTheSpanIsKept) {
  KinetoFile kineto;
  kineto.Add(StepCalls(kLinkedLayers, 60));
  kineto.Add({{1, "ProfilerStep#12", -1, -1}}, static_cast<int>(kCalls) * 10);
  const std::string text = kineto.Text();
  // The annotation encloses the step that follows: it starts where it started, not where it ended.
  KinetoFile inside = kineto;
  inside.Add(StepCalls(kLinkedLayers, 100));
  auto json = nlohmann::json::parse(inside.Text());
  const double shift = static_cast<double>(kCalls) * 10;
  for (std::size_t i = kCalls + 1; i < json["traceEvents"].size(); ++i) {
    json["traceEvents"][i]["ts"] = json["traceEvents"][i]["ts"].get<double>() - shift;
  }
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 100)), json.dump());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->link().repeat, 2U);
  EXPECT_EQ(linked->list->operations.size(), kCalls + 1);
  EXPECT_EQ(linked->diagnostics.CountOf("operation_without_host_record"), 0U);
}

TEST(LinkingByOrder, DifferentProgramsAreRefusedWithTheEvidence) {
  std::vector<Call> other = StepCalls(kLinkedLayers, 100);
  for (std::size_t i = 30; i < other.size(); ++i) {
    if (i % 4 == 0) {
      other[i].name = "aten::conv2d";
    }
  }
  const auto linked =
      LinkTexts(HostText(StepCalls(kLinkedLayers, 100), 99), KinetoFile().Add(other).Text());
  ASSERT_FALSE(linked->list);
  EXPECT_EQ(linked->list.error().kind, ErrorKind::kBadInput);
  for (const char* part :
       {"do not belong together", "first difference", "host thread", "Kineto thread",
        "aten::conv2d", "process 99", "of 7", "90 %", "0 of 0 match"}) {
    EXPECT_THAT(linked->list.error().message, HasSubstr(part));
  }
}

TEST(LinkingByOrder, AnotherProcessIsCounted) {
  const auto linked = LinkTexts(HostText(StepCalls(kLinkedLayers, 100), 99),
                                KinetoFile().Add(StepCalls(kLinkedLayers, 100)).Text());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  EXPECT_EQ(linked->diagnostics.CountOf("linked_to_another_process"), 1U);
}

// Whole µs: a child that seems to start when its caller has ended, and one that seems to outlive
// it.
TEST(LinkingByOrder, CallersDecideWhereMicrosecondsDoNot) {
  std::vector<Call> calls;
  for (int i = 0; i < 20; ++i) {
    calls.push_back({1, "aten::mul_" + std::to_string(i), 8, -1});
  }
  auto host = nlohmann::json::parse(HostText(calls));
  auto kineto = nlohmann::json::parse(KinetoFile().Add(calls).Text());
  const auto node = [&](std::size_t i) -> nlohmann::json& {
    return host["nodes"][host["nodes"].size() - 1 - i];  // the file is reversed
  };
  const auto time = [&](std::size_t i, int ts, int dur) {
    kineto["traceEvents"][i]["ts"] = ts;
    kineto["traceEvents"][i]["dur"] = dur;
  };
  node(1)["parent"] = node(0)["id"];
  node(2)["parent"] = node(1)["id"];
  time(0, 1000, 3);
  time(1, 1003, 0);  // called by 0, which seems to have ended
  time(2, 1003, 1);  // called by 1, and seems to outlive both
  time(3, 1004, 2);  // not called by 0
  const auto linked = LinkTexts(host.dump(), kineto.dump());
  ASSERT_TRUE(linked->list) << linked->list.error().message;
  const auto& ops = linked->list->operations;
  EXPECT_EQ(ops[1].parent, 0);
  EXPECT_EQ(ops[2].parent, 1);
  EXPECT_EQ(ops[3].parent, -1);
  EXPECT_EQ(ops[0].end_ns, 1'004'000);
  EXPECT_EQ(linked->diagnostics.CountOf("operation_outlives_caller"), 0U);
}

}  // namespace
}  // namespace reprise::pytorch
