// What shows which tensors expert-parallel ranks divide: grouped products, and the exchange of
// tokens and of their numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/node.h"
#include "predict/rescale/tensors/divided_among.h"

namespace reprise {

// Found in a rank's nodes: Collect each of them, in order; then Check.
//
// Even routing is assumed and tested: every exchange of tokens has equal parts, in which all
// experts can have as many. So the number of a rank's rows stays.
class ExpertSeeds {
 public:
  // A table with a row for each expert of a rank, which `owners` of such numbers pick.
  struct Table {
    TensorDesc table, numbers;
    std::uint64_t node = 0;  // id
    std::string op;
  };
  struct Gathered {
    TensorDesc part, whole;
  };
  // Each row of x, and its sum.
  struct RowSum {
    TensorDesc x, y;
  };

  // `call`: the node's; `among`: a transfer of these ranks.
  void Collect(const Node& node, const OpCall& call, bool among);
  // Bad input: no grouped products, or not of as many experts; a number of ranks that does not
  // divide them; transfers whose parts at another number are not known. `replicas`: ranks with the
  // same experts, before.
  [[nodiscard]] Status Check(const DividedAmong& division, std::int64_t replicas) const;

  // Experts of each rank, after Check.
  [[nodiscard]] std::int64_t local() const { return local_.begin()->first; }
  // Tensors that count all experts' tokens: by storage.
  [[nodiscard]] const std::set<std::int64_t>& counts() const { return counts_; }
  [[nodiscard]] const std::vector<Gathered>& gathered() const { return gathered_; }
  [[nodiscard]] const std::vector<RowSum>& sums() const { return sums_; }
  // Numbers of a rank's experts, and counts of theirs: of one dimension.
  [[nodiscard]] const std::vector<TensorDesc>& own() const { return own_; }
  [[nodiscard]] const std::vector<Table>& tables() const { return tables_; }

 private:
  struct Exchange {
    std::uint64_t node = 0;  // id
    std::string name;
    std::int64_t rows = 0;  // that it sends, or gets
  };

  void CollectWork(const Node& node, const OpCall& call);
  void CollectTransfer(const Node& node);
  void CollectExchange(const Node& node);
  void Refuse(const Node& node, const std::string& why);

  std::map<std::int64_t, std::uint64_t> local_;  // experts of grouped products, and the first's id
  std::set<std::int64_t> counts_;
  std::vector<Gathered> gathered_;
  std::vector<RowSum> sums_;
  std::vector<TensorDesc> own_;
  std::vector<Table> tables_;
  std::vector<Exchange> exchanges_;
  std::unordered_map<std::int64_t, TensorDesc> repeated_;  // by storage of the result
  std::unordered_map<std::int64_t, TensorDesc> owners_;    // numbers, by storage of the owners
  std::optional<Error> refused_;                           // the first
};

}  // namespace reprise
