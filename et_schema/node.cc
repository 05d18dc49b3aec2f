#include "et_schema/node.h"

#include <array>

namespace reprise {
namespace {

constexpr std::array<std::string_view, 10> kReasonNames = {
    "unknown", "thread", "stream",  "launch", "event",
    "sync",    "data",   "fwd_bwd", "group",  "comm_wait"};
constexpr std::array<std::string_view, 8> kTypeNames = {
    "invalid", "metadata", "mem_load", "mem_store", "comp", "comm_send", "comm_recv", "comm_coll"};

}  // namespace

std::string_view Name(EdgeReason reason) {
  return kReasonNames.at(static_cast<std::size_t>(reason));
}

std::optional<EdgeReason> ParseEdgeReason(std::string_view text) {
  for (std::size_t i = 0; i < kReasonNames.size(); ++i) {
    if (kReasonNames[i] == text) {
      return static_cast<EdgeReason>(i);
    }
  }
  return std::nullopt;
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
