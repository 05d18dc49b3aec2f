// Each row of the tables of attributes under policies: kept as it is, or gone.
#include <gtest/gtest.h>

#include <algorithm>

#include "converters/share/anonymize/anonymize.h"
#include "converters/share/audit/audit.h"
#include "et_schema/shared_fields.h"
#include "tests/et_schema/field_samples.h"
#include "tests/et_schema/scratch_directory.h"
#include "tests/et_schema/trace_files.h"

namespace reprise {
namespace {

// Keeps whatever may be kept.
Policy KeepAll() {
  auto policy = Policy::Load("replay");
  EXPECT_TRUE(policy) << policy.error().message;
  for (const SharedField& field : kSharedFields) {
    if (field.sharing.may.find('k') != std::string_view::npos) {
      policy->actions.at(static_cast<std::size_t>(field.sharing.field)) = Action::kKeep;
    }
  }
  return *policy;
}

class SharedFields : public testing::Test {
 protected:
  // What becomes of a trace of these nodes.
  std::vector<Node> Share(const Policy& policy, std::vector<Node> nodes,
                          const TraceMetadata& metadata = {}) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      nodes[i].id = i;
    }
    const std::string from = scratch_.File("from");
    const std::string to = scratch_.File("to");
    EXPECT_TRUE(WriteTrace(from + "/x.0.et", nodes, metadata));
    const auto report = AnonymizeSet(
        {.input_directory = from, .output_directory = to, .policy = policy, .force = true});
    EXPECT_TRUE(report) << report.error().message;
    const auto reader = EtReader::Open(to + "/x.0.et");
    EXPECT_TRUE(reader) << reader.error().message;
    metadata_ = (*reader)->metadata();
    return *ReadTrace(to + "/x.0.et");
  }
  ScratchDirectory scratch_;
  TraceMetadata metadata_;
};

TEST_F(SharedFields, StayWhereAPolicyKeepsThem) {
  std::vector<Node> nodes;
  for (const FieldSample& sample : FieldSamples()) {
    nodes.push_back(sample.with);
    nodes.back().id = nodes.size() - 1;
  }
  const std::vector<Node> shared = Share(KeepAll(), nodes);
  ASSERT_EQ(shared.size(), nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(shared[i], nodes[i]) << FieldSamples()[i].name;
  }
}

TEST_F(SharedFields, AreKnownToAnAudit) {
  const auto policy = Policy::Load("replay");
  ASSERT_TRUE(policy) << policy.error().message;
  for (const FieldSample& sample : FieldSamples()) {
    Node node = sample.with;
    node.id = 0;
    const std::string from = scratch_.File("from");
    const std::string to = scratch_.File("to");
    ASSERT_TRUE(WriteTrace(from + "/x.0.et", std::vector<Node>{node}, {}));
    const auto shared = AnonymizeSet(
        {.input_directory = from, .output_directory = to, .policy = *policy, .force = true});
    ASSERT_TRUE(shared) << shared.error().message;
    const auto report = AuditSet({.directory = to});
    ASSERT_TRUE(report) << report.error().message;
    for (const AuditFinding& finding : report->findings) {
      ADD_FAILURE() << sample.name << ": " << finding.kind << " in " << finding.field << ": "
                    << finding.text;
    }
  }
}

TEST_F(SharedFields, GoWhereAPolicyDropsThem) {
  const std::vector<FieldSample> samples = FieldSamples();
  std::size_t dropped = 0;
  for (const FieldSample& sample : samples) {
    if (sample.sharing.find('d') == std::string::npos) {
      continue;
    }
    ++dropped;
    Policy policy = KeepAll();
    const auto field = std::ranges::find(kSharedFields, sample.name, &SharedField::name);
    ASSERT_NE(field, kSharedFields.end()) << sample.name;
    policy.actions.at(static_cast<std::size_t>(field->sharing.field)) = Action::kDrop;
    Node without = sample.without;
    without.id = 0;
    EXPECT_EQ(Share(policy, {sample.with}).at(0), without) << sample.name;
  }
  EXPECT_GT(dropped, samples.size() / 2);
}

TEST_F(SharedFields, OfTheHeaderToo) {
  TraceMetadata metadata;
  const auto set_sample = [&](const auto& row) { row.Of(metadata) = SampleOf(row.Of(metadata)); };
  ForEachMember(kHeaderFields, set_sample);
  ForEachMember(kClockFields, set_sample);
  metadata.rank = 0;
  metadata.world_size = 1;
  metadata.source = "pytorch";
  Policy policy = KeepAll();
  Share(policy, {PlainNode()}, metadata);
  EXPECT_EQ(metadata_, metadata);
  ForEachMember(kHeaderFields, [&](const auto& row) {
    if (row.sharing.may.find('d') != std::string_view::npos) {
      policy = KeepAll();
      policy.actions.at(static_cast<std::size_t>(row.sharing.field)) = Action::kDrop;
      Share(policy, {PlainNode()}, metadata);
      EXPECT_EQ(row.Of(metadata_), row.Default()) << row.name;
    }
  });
}

}  // namespace
}  // namespace reprise
