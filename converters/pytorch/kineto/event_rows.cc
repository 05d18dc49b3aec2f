#include "converters/pytorch/kineto/event_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "core/counted.h"
#include "core/text.h"

namespace reprise::pytorch {
namespace {

// What one process of a file recorded, all its threads together.
struct ProcessSum {
  std::uint64_t operations = 0, steps = 0, communication_calls = 0, launches = 0;
};

}  // namespace

RowId ReadRowId(const JsonMember& value) {
  RowId id;
  double real = 0;
  std::string_view text;
  if (value.get(id.number) == simdjson::SUCCESS) {
    return id;
  }
  if (value.get(real) == simdjson::SUCCESS && real > -9e18 && real < 9e18) {
    id.number = static_cast<std::int64_t>(real);
  } else if (value.get(text) == simdjson::SUCCESS) {
    if (const auto number = ParseNumber<std::int64_t>(text)) {
      id.number = *number;
    } else {
      id.text = text;
    }
  }
  return id;
}

std::string RowText(const RowId& id) {
  return id.text.empty() ? std::to_string(id.number) : fmt::format("'{}'", id.text);
}

std::int64_t RowNumber(const JsonMember& value, std::int64_t otherwise) {
  if (value.error() != simdjson::SUCCESS) {
    return otherwise;
  }
  const RowId id = ReadRowId(value);
  if (id.text.empty()) {
    return id.number;
  }
  std::size_t digits = id.text.size();
  while (digits > 0 && IsDigit(id.text[digits - 1])) {
    --digits;
  }
  return ParseNumber<std::int64_t>(std::string_view(id.text).substr(digits)).value_or(otherwise);
}

bool IsDevice(const ProcessNames& names, const RowId& process) {
  const auto named = names.find(process);
  return named != names.end() && !named->second.second.empty() &&
         !named->second.second.starts_with("CPU");
}

std::int32_t EventRows::Find(const JsonMember& process, const JsonMember& thread) {
  if (last_ >= 0) {  // nearly always
    const EventRow& row = (*this)[last_];
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    if (row.process.text.empty() && row.thread.text.empty() &&
        thread.get(tid) == simdjson::SUCCESS && process.get(pid) == simdjson::SUCCESS &&
        tid == row.thread.number && pid == row.process.number) {
      return last_;
    }
  }
  return last_ = Add({.process = ReadRowId(process), .thread = ReadRowId(thread)});
}

std::int32_t EventRows::Add(EventRow row) {
  const auto [it, fresh] = known_.try_emplace(std::pair(row.process, row.thread),
                                              static_cast<std::int32_t>(rows_.size()));
  if (fresh) {
    rows_.push_back(std::move(row));
  } else {
    EventRow& known = (*this)[it->second];
    known.operations += row.operations;
    known.steps += row.steps;
    known.communication_calls += row.communication_calls;
    known.runtime_calls += row.runtime_calls;
  }
  return it->second;
}

std::vector<std::int32_t> EventRows::Append(const EventRows& more) {
  std::vector<std::int32_t> out;
  out.reserve(more.rows_.size());
  for (const EventRow& row : more.rows_) {
    out.push_back(Add(row));
  }
  return out;
}

Status CheckOneProcess(const std::string& path, const EventRows& rows,
                       const std::vector<std::uint64_t>& launches) {
  std::map<RowId, ProcessSum> processes;
  for (std::size_t i = 0; i < rows.All().size(); ++i) {
    const EventRow& row = rows.All()[i];
    ProcessSum& process = processes[row.process];
    process.operations += row.operations;
    process.steps += row.steps;
    process.communication_calls += row.communication_calls;
    process.launches += i < launches.size() ? launches[i] : 0;
  }
  const auto several = [&](std::uint64_t ProcessSum::*what) {
    return std::count_if(processes.begin(), processes.end(),
                         [&](const auto& process) { return process.second.*what > 0; }) > 1;
  };
  if (!several(&ProcessSum::launches) && !several(&ProcessSum::steps) &&
      !several(&ProcessSum::communication_calls)) {
    return {};
  }
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const auto& [id, sum] : processes) {
    if (sum.operations + sum.launches > 0) {
      names.push_back(fmt::format("{} ({}, {}, {}, {})", RowText(id),
                                  Counted(sum.operations, "operation"), Counted(sum.steps, "step"),
                                  Counted(sum.communication_calls, "collective call"),
                                  Counted(sum.launches, "launch")));
    }
  }
  const std::size_t count = names.size();
  names.resize(std::min(count, kMostNamed));
  return BadInput(fmt::format(
      "{}: a merge of {} processes: {}{}; ids of threads, launches and calls hold within one "
      "process only; give each process's own file (rank0.kineto.json, rank1.kineto.json, … in one "
      "directory), as the profilers wrote them before the merge",
      path, count, fmt::join(names, ", "), count > kMostNamed ? ", …" : ""));
}

std::vector<std::int64_t> ThreadNumbers(const std::string& path, const EventRows& rows,
                                        Diagnostics& diagnostics) {
  std::set<RowId> with_operations;
  std::set<std::int64_t> taken;
  const RowId* main = nullptr;  // the process of the first operation
  for (const EventRow& row : rows.All()) {
    if (row.operations > 0) {
      with_operations.insert(row.process);
      main = main == nullptr ? &row.process : main;
    }
    if (row.thread.text.empty()) {
      taken.insert(row.thread.number);
    }
  }
  std::vector<std::int64_t> out;
  std::int64_t next = taken.empty() ? 1 : std::max<std::int64_t>(0, *taken.rbegin()) + 1;
  for (const EventRow& row : rows.All()) {
    const bool other =
        main != nullptr && row.process != *main && with_operations.contains(row.process);
    const bool host = row.operations + row.runtime_calls > 0;
    if (row.thread.text.empty() && !other) {
      out.push_back(row.thread.number);
      continue;
    }
    out.push_back(next++);
    if (other && row.operations > 0) {
      diagnostics.Count(
          "operation_of_second_process",
          fmt::format("{}: process {} beside {}", path, RowText(row.process), RowText(*main)),
          row.operations);
    }
    if (host) {
      diagnostics.Count("thread_renumbered",
                        fmt::format("{}: thread {} of process {} is {}", path, RowText(row.thread),
                                    RowText(row.process), out.back()));
    }
  }
  return out;
}

}  // namespace reprise::pytorch
