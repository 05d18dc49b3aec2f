// Tensors that tensor-parallel ranks divide among them: matrices by columns or rows, heads, the
// vocabulary, with sequence parallelism tokens; and what is computed from them. Also those that
// expert-parallel ranks divide: matrices of experts.
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
#include "predict/rescale/tensors/divided_layout.h"
#include "predict/rescale/tensors/expert_seeds.h"
#include "predict/rescale/tensors/rank_lists.h"
#include "predict/rescale/tensors/same_dimensions.h"

namespace reprise {

// Of a transfer: the ranks that divide tensors, those that hold the same experts, or others.
enum class AmongWhom : std::uint8_t { kDividing, kReplicas, kOthers };

// Found in a rank's nodes: Collect each of them, in order; Solve; then Change each.
//
// Known from the transfers among these ranks: what a gather takes and a scatter leaves is a part of
// what the other side has; where a sum of a product is made, the product's inner dimension is
// divided. It follows from operators to their other tensors (same_dimensions.h), and from a tensor
// to all that show its storage (divided_layout.h), forward and backward, until no more is found.
//
// A dimension of one element is divided only where it counts heads. That follows from attention,
// from there to its operands and results, and to other views of the same storages.
class DividedTensors {
 public:
  // `kv_heads`: of keys and values in the whole model; 0: not given.
  DividedTensors(const DividedAmong& division, std::int64_t kv_heads)
      : division_(division), kv_heads_(kv_heads), lists_(division) {}
  // Of experts; `replicas`: ranks that hold the same ones.
  DividedTensors(const DividedAmong& division, const DividedAmong& replicas)
      : division_(division), kv_heads_(0), lists_(division), replicas_(replicas) {
    experts_.emplace();
  }

  // `group`: ranks of a transfer's group, before and after.
  void Collect(const Node& node, AmongWhom whom, const DividedAmong& group);
  // Bad input: nothing is divided, or something in a way that its operator or size does not allow.
  [[nodiscard]] Status Solve();
  // Gives the node's tensors, and numbers among its arguments that follow from them, their new
  // sizes; whether any had another.
  [[nodiscard]] Result<bool> Change(Node& node) const;

 private:
  struct Place {
    std::int64_t storage = 0;
    std::size_t tensor = 0, dim = 0;
  };
  struct Related {
    std::vector<Place> places;
    std::uint64_t node = 0;  // id
    std::size_t op = 0;      // in ops_
    // Of one element each: the index of the first result, which is as large as one of the operands
    // before it.
    std::optional<std::size_t> results;
    // By place, if any is known: a tensor whose order in memory it has.
    std::vector<std::optional<Place>> laid_like;
  };
  // A copy that puts a tensor into order, and the shape in which it is seen next, if in another.
  struct Ordered {
    TensorDesc of;
    std::optional<TensorDesc> as;
    std::uint64_t node = 0;  // id
  };
  // What is a rank's part of a buffer, of so many ranks before and after.
  struct Share {
    Place place;
    DividedAmong ranks;
  };
  // What wrote a storage last, and those that wrote what it read.
  struct Written {
    std::optional<std::size_t> summed;  // in related_
    std::vector<std::size_t> from;      // in written_, where sums are kept
  };

  [[nodiscard]] std::size_t NumberOfOp(const std::string& op);
  [[nodiscard]] std::optional<Place> PlaceOf(const TensorDesc& tensor, std::size_t dim);
  void FindWholes(const Node& node);
  void RelateParts(const WholeBuffer& buffer);
  void RelateLists();
  void DropJoined();
  void PlaceLists();
  void SeedSums(const Node& node);
  void RelateTable(const OpCall& call, std::uint64_t node, std::size_t op);
  void Write(const Node& node, const SameDimensions& same, std::optional<std::size_t> summed);
  [[nodiscard]] bool IsDivided(const Related& related) const;
  void CollectCopy(const Node& node);
  [[nodiscard]] Status CheckCopies() const;
  void CollectHeads(const Node& node, const SameDimensions& same, std::size_t op);
  [[nodiscard]] bool IsHead(const Place& place) const;
  [[nodiscard]] Status CheckKeyHeads() const;
  void SpreadHeads();
  [[nodiscard]] std::vector<std::int64_t> HeadElementsAt(const Related& related,
                                                         std::size_t place) const;
  [[nodiscard]] std::optional<std::int64_t> ElementsAsIn(const Place& like,
                                                         const Place& place) const;
  [[nodiscard]] Status CheckOrder() const;
  [[nodiscard]] Status CheckOnes(const Related& related) const;
  [[nodiscard]] tl::unexpected<Error> CannotDivide(const Related& related,
                                                   const Place& place) const;
  void PlaceAllRanks();
  // These in divided_experts.cc.
  [[nodiscard]] Status PlaceExperts();
  [[nodiscard]] Status PlaceCounts(std::int64_t storage);
  [[nodiscard]] Status PlaceGathered(const ExpertSeeds::Gathered& gathered);
  void Seed(std::int64_t storage, std::size_t tensor, std::size_t dim);
  [[nodiscard]] std::string_view Ranks() const {
    return experts_ ? "expert-parallel" : "tensor-parallel";
  }
  void SpreadSizes();
  [[nodiscard]] Status CheckRelated() const;
  [[nodiscard]] Status DivideAll();
  [[nodiscard]] bool ChangeRows(Node& node) const;

  DividedAmong division_;
  std::int64_t kv_heads_;
  std::unordered_map<std::int64_t, DividedLayout> storages_;
  std::vector<Related> related_;
  std::unordered_map<std::int64_t, std::vector<std::size_t>> related_of_;  // by storage
  RankLists lists_;
  std::vector<WholeBuffer> wholes_;
  std::vector<std::size_t> joins_;  // in related_
  std::vector<Share> shares_;       // what other ranks have of a buffer, one after the other
  std::vector<Place> ranks_;        // dimensions with a place for each rank
  std::set<std::size_t> seeds_;     // in related_
  std::vector<Written> written_;
  std::unordered_map<std::int64_t, std::size_t> last_written_;  // by storage, in written_
  std::unordered_map<std::int64_t, Place> table_of_;            // by storage of ids
  std::vector<std::string> ops_;
  std::map<std::string, std::size_t> number_of_op_;
  // Nodes whose operator is not known, by their tensors.
  std::vector<Related> unknown_;
  std::vector<std::size_t> whole_, sums_;        // in related_
  std::vector<std::size_t> heads_;               // in related_: of attention
  std::vector<std::pair<Place, Place>> viewed_;  // dimensions of views, and of what they view
  std::optional<Place> key_heads_;               // of attention's keys
  std::map<std::int64_t, Ordered> copies_;       // by storage of the copy
  std::uint64_t attention_ = 0;                  // id of the node that has them
  bool backward_ = false;                        // there is attention's backward pass
  std::vector<std::size_t> vocabularies_;        // in related_: rows that ids count
  std::set<std::int64_t> rows_;                  // their sizes, where they are divided
  std::optional<ExpertSeeds> experts_;           // of expert-parallel ranks
  DividedAmong replicas_;                        // of experts
};

}  // namespace reprise
