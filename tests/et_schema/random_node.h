// Nodes of every shape, for property tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "core/value.h"
#include "et_schema/node.h"

namespace reprise {

class RandomNodes {
 public:
  explicit RandomNodes(std::uint64_t seed) : random_(seed) {}

  // Unique ids, increasing starts; waits only for earlier nodes.
  Node Next();
  Value RandomValue(int depth);
  std::string RandomText();
  std::int64_t RandomInt();  // small, negative, or as large as they get

 private:
  std::int64_t Below(std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random_);
  }
  bool Coin() { return Below(2) == 0; }
  TensorDesc RandomTensor();
  ValueList RandomList(int depth);
  CommSpec RandomComm(NodeType type);
  StorageWork RandomStorage();
  double RandomDouble();

  std::mt19937_64 random_;
  std::uint64_t next_id_ = 0;
  std::vector<std::uint64_t> ids_;
  std::int64_t clock_ns_ = -5000;
};

}  // namespace reprise
