#include "run/table_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>

namespace reprise {

#define REPRISE_TABLE(table, Struct, where) \
  namespace types_of_##table {              \
    using Row = Struct;
#define REPRISE_COLUMN(column, type, member, since)                   \
  static_assert(MayHold<decltype(Row().member)>(ColumnType::k##type), \
                "the type of column " #column);
#define REPRISE_TABLE_END }
#include "run/schema.def"

std::string_view Stored(GroupCertainty certainty) {
  switch (certainty) {
    case GroupCertainty::kRecorded:
      return "recorded";
    case GroupCertainty::kInferred:
      return "inferred";
    default:
      return "unknown";
  }
}

std::string Stored(const std::vector<std::int64_t>& splits) {
  return fmt::format("[{}]", fmt::join(splits, ","));
}

void Parse(std::string_view text, OpClass& value) {
  value = ParseName<OpClass>(text).value_or(OpClass::kOther);
}
void Parse(std::string_view text, OpKind& value) {
  value = ParseName<OpKind>(text).value_or(OpKind::kWork);
}
void Parse(std::string_view text, Phase& value) {
  value = ParseName<Phase>(text).value_or(Phase::kOther);
}
void Parse(std::string_view text, ReplayMode& value) {
  value = ParseName<ReplayMode>(text).value_or(ReplayMode::kSkip);
}
void Parse(std::string_view text, WorkSource& value) {
  value = ParseName<WorkSource>(text).value_or(WorkSource::kNone);
}
void Parse(std::string_view text, TimeSource& value) {
  value = ParseName<TimeSource>(text).value_or(TimeSource::kNone);
}
void Parse(std::string_view text, CommKind& value) {
  value = ParseCommKind(text).value_or(CommKind::kBarrier);
}
void Parse(std::string_view text, GroupCertainty& value) {
  value = text == "recorded"   ? GroupCertainty::kRecorded
          : text == "inferred" ? GroupCertainty::kInferred
                               : GroupCertainty::kUnknown;
}
void Parse(std::string_view text, DType& value) { value = ParseDType(text); }
void Parse(std::string_view text, ReduceOp& value) {
  value = ParseReduceOp(text).value_or(ReduceOp::kSum);
}
void Parse(std::string_view text, MetricKind& value) {
  value = ParseName<MetricKind>(text).value_or(MetricKind::kGauge);
}

void Parse(std::string_view stored, std::vector<std::int64_t>& splits) {
  const std::string text(stored);
  const char* at = text.c_str() + (text.empty() ? 0 : 1);
  for (char* end = nullptr; *at != '\0' && *at != ']'; at = *end == ',' ? end + 1 : end) {
    splits.push_back(std::strtoll(at, &end, 10));
    if (end == at) {
      splits.pop_back();
      break;
    }
  }
}

}  // namespace reprise
