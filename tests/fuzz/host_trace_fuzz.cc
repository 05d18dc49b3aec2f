// Any bytes as a host trace, alone and beside a Kineto file (what follows the first zero byte, else
// a fixed one): an error or nodes, never a crash; what is linked is linked once and by name.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converters/pytorch/host/host_trace.h"
#include "converters/pytorch/host/plain_nodes.h"
#include "converters/pytorch/kineto/kineto.h"
#include "converters/pytorch/rank/operation_list.h"
#include "tests/converters/same_nodes.h"
#include "tests/converters/text_in_memory.h"

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

// What the reader of the observer's own text accepts, simdjson's reads, and as the same.
void CompareReaders(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.rfind(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return;
  }
  const JsonBatch batch{
      TextFile::FromText("host", std::string(text.substr(open, close + 1 - open))), true};
  StringPool pool;
  BatchStrings strings(pool);
  static PlainNodes plain;  // what it knows from other texts must change nothing
  std::vector<HostNode> nodes;
  std::vector<std::uint8_t> oddities;
  if (!plain.Read(batch, strings, nodes, oddities)) {
    return;
  }
  simdjson::dom::parser parser;
  std::size_t next = 0;
  const auto compare = [&](simdjson::dom::element root, std::size_t /*index*/,
                           ElementPlaces& /*places*/, bool patched) -> Status {
    HostNode node;
    std::uint8_t odd = patched ? kNonJsonNumber : 0;
    Require(ReadHostNode(root, batch.text, 0, strings, node, odd).has_value());
    Require(next < nodes.size() && Same(node, nodes[next]) && odd == oddities[next]);
    ++next;
    return {};
  };
  Require(VisitElements(batch, parser, compare).has_value() && next == nodes.size());
}

void Try(std::string_view data) {
  const std::size_t zero = data.find('\0');
  CompareReaders(data.substr(0, zero));
  Diagnostics diagnostics;
  const auto host = ReadHostText("host", data.substr(0, zero), diagnostics);
  if (!host) {
    return;
  }
  CheckIds(*host);
  const std::string_view kineto_text =
      zero == std::string_view::npos ? kKineto : data.substr(zero + 1);
  const auto kineto = ReadKinetoText("kineto", kineto_text, diagnostics);
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
