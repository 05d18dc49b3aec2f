// Any bytes as a host trace, alone and beside a Kineto file (what follows the first zero byte, else
// a fixed one): an error or nodes, never a crash; what is linked is linked once and by name.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "converters/pytorch/host_trace.h"
#include "converters/pytorch/kineto.h"
#include "converters/pytorch/operations.h"

namespace reprise::pytorch {
namespace {

constexpr std::string_view kKineto = R"({"traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 5, "ts": 1, "dur": 2,
   "args": {"Ev Idx": 0, "Input Dims": [[2, 3]], "Sequence number": 4}},
  {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 5, "ts": 3, "dur": 2,
   "args": {"Ev Idx": 1}}]})";

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void CheckIds(const HostTrace& trace) {
  std::set<std::uint64_t> ids;
  for (const HostNode& node : trace.nodes) {
    Require(node.name != nullptr && node.op_schema != nullptr);
    Require(ids.insert(node.id).second && node.id <= trace.highest_id);
  }
}

void CheckLinks(const HostTrace& host, const OperationList& list) {
  std::set<std::int32_t> used;
  for (const Operation& op : list.operations) {
    if (op.host < 0) {
      continue;
    }
    Require(used.insert(op.host).second);
    const std::string& name = *host.nodes[static_cast<std::size_t>(op.host)].name;
    Require(name == *op.name || name.starts_with("ProfilerStep#"));
  }
}

void Try(std::string_view data) {
  const std::size_t zero = data.find('\0');
  Diagnostics diagnostics;
  const auto host =
      ReadHostTrace(TextFile::FromText("host", std::string(data.substr(0, zero))), diagnostics);
  if (!host) {
    return;
  }
  CheckIds(*host);
  const std::string_view kineto_text =
      zero == std::string_view::npos ? kKineto : data.substr(zero + 1);
  const auto kineto =
      ReadKineto(TextFile::FromText("kineto", std::string(kineto_text)), false, diagnostics);
  if (!kineto) {
    return;
  }
  for (const RepeatChoice choice : {RepeatChoice::kRecorded, RepeatChoice::kMedian}) {
    if (const auto list = LinkOperations(*host, *kineto, choice, "rank 0", diagnostics)) {
      CheckLinks(*host, *list);
    }
  }
}

}  // namespace
}  // namespace reprise::pytorch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  reprise::pytorch::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
