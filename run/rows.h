// How each struct becomes a row: INSERT text and binding, one pair of overloads per table.
#pragma once

#include <string>
#include <utility>

#include "core/records.h"
#include "run/database.h"
#include "run/run.h"

namespace reprise {

// The INSERT of a row type; the argument only selects the overload.
[[nodiscard]] std::string InsertSql(const NodeInfo& row);
[[nodiscard]] std::string InsertSql(const EdgeInfo& row);
[[nodiscard]] std::string InsertSql(const CollectiveInfo& row);
[[nodiscard]] std::string InsertSql(const Metric& row);
[[nodiscard]] std::string InsertSql(const NodeRecord& row);
[[nodiscard]] std::string InsertSql(const StepRecord& row);
[[nodiscard]] std::string InsertSql(const Sample& row);
[[nodiscard]] std::string InsertSql(const RunDevice& row);
[[nodiscard]] std::string InsertSql(const MeteredDevice& row);
[[nodiscard]] std::string InsertSql(const std::pair<std::string, std::string>& fact);

[[nodiscard]] Status InsertRow(Statement& insert, int rank, const NodeInfo& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const EdgeInfo& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const CollectiveInfo& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const Metric& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const NodeRecord& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const StepRecord& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const Sample& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const RunDevice& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank, const MeteredDevice& row);
[[nodiscard]] Status InsertRow(Statement& insert, int rank,
                               const std::pair<std::string, std::string>& fact);

// Split lists as stored: "[1,2]", "[]" where even.
[[nodiscard]] std::string SplitsText(const std::vector<std::int64_t>& splits);
[[nodiscard]] std::vector<std::int64_t> ParseSplits(const std::string& text);
[[nodiscard]] std::string_view CertaintyText(GroupCertainty certainty);
[[nodiscard]] GroupCertainty ParseCertaintyText(std::string_view text);

}  // namespace reprise
