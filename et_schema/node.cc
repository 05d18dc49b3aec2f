#include "et_schema/node.h"

#include <array>

namespace reprise {
namespace {

constexpr std::array<std::string_view, 11> kReasonNames = {
    "unknown", "thread",  "stream", "launch",    "event",  "sync",
    "data",    "fwd_bwd", "group",  "comm_wait", "control"};
constexpr std::array<std::string_view, 8> kTypeNames = {
    "invalid", "metadata", "mem_load", "mem_store", "comp", "comm_send", "comm_recv", "comm_coll"};

}  // namespace

std::string_view Name(EdgeReason reason) {
  return kReasonNames.at(static_cast<std::size_t>(reason));
}

bool IsControl(EdgeReason reason) {
  switch (reason) {
    case EdgeReason::kThread:
    case EdgeReason::kStream:
    case EdgeReason::kLaunch:
    case EdgeReason::kEvent:
    case EdgeReason::kSync:
    case EdgeReason::kGroup:
    case EdgeReason::kControl:
      return true;
    case EdgeReason::kUnknown:
    case EdgeReason::kData:
    case EdgeReason::kFwdBwd:
    case EdgeReason::kCommWait:
      return false;
  }
  return false;
}

std::string_view Name(NodeType type) { return kTypeNames.at(static_cast<std::size_t>(type)); }

std::string_view Name(Actor::Kind kind) {
  switch (kind) {
    case Actor::Kind::kThread:
      return "thread";
    case Actor::Kind::kStream:
      return "stream";
    case Actor::Kind::kGroup:
      return "group";
  }
  return "thread";
}

}  // namespace reprise
