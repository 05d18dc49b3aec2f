// A rank's file as differences to another rank's: forms of messages, and a column of differences
// for each kind of number. Only et_schema sees this.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "et_schema/message_forms.h"
#include "et_schema/wire.h"
#include "et_schema/wire_buffer.h"

namespace reprise {

// Forms by number.
class FormTable {
 public:
  // Of a form that SplitMessage gave.
  [[nodiscard]] std::uint32_t NumberOf(const std::string& key);
  // False: no form.
  [[nodiscard]] bool Add(std::string key);
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t Find(const std::string& key) const {
    const auto known = numbers_.find(key);
    return known == numbers_.end() ? kNone : known->second;
  }
  [[nodiscard]] const MessageForm& at(std::uint32_t number) const { return forms_[number]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(forms_.size()); }

 private:
  std::vector<MessageForm> forms_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Turns what follows from other numbers of a rank into differences to that, and back: a dependency
// into how many nodes before, a start into what is not the latest end of a dependency and the
// delay, microseconds into what is not the nanoseconds.
class NumberRelations {
 public:
  void Relate(const MessageForm& form, std::vector<std::int64_t>& numbers);
  void Restore(const MessageForm& form, std::vector<std::int64_t>& numbers);

 private:
  struct Places {
    int id, start_micros, duration_micros, start, duration, delay;
  };
  [[nodiscard]] static Places PlacesIn(const MessageForm& form);
  // From dependency to distance, or back; the latest end of those that came before, as known.
  template <bool kBack>
  void Dependencies(const MessageForm& form, std::int64_t id, std::vector<std::int64_t>& numbers);
  void TookNode(std::int64_t id, std::int64_t end);

  std::unordered_map<std::int64_t, std::uint32_t> order_;  // id → place in the file
  struct Taken {
    std::int64_t id, end;
  };
  std::vector<Taken> taken_;
  std::int64_t latest_end_ = 0;
};

// The first rank of a class, to which the others are differences.
class ReferenceRank {
 public:
  // Its file, which is one that EtReader reads. Errors name file and byte.
  static Result<std::shared_ptr<const ReferenceRank>> Read(const std::string& path);

  [[nodiscard]] const std::string& header() const { return header_; }
  [[nodiscard]] const FormTable& forms() const { return forms_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }            // unpacked
  [[nodiscard]] std::uint64_t file_bytes() const { return file_bytes_; }  // on disk
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(form_of_.size()); }
  [[nodiscard]] std::uint32_t FormOf(std::uint32_t node) const { return form_of_[node]; }
  [[nodiscard]] const std::int64_t* NumbersOf(std::uint32_t node) const {
    return numbers_.data() + first_number_[node];
  }
  // In the order of the file.
  [[nodiscard]] const std::vector<std::uint32_t>& NodesOfForm(std::uint32_t form) const {
    return nodes_of_form_[form];
  }

 private:
  std::string header_;
  FormTable forms_;
  std::vector<std::uint32_t> form_of_;
  std::vector<std::size_t> first_number_;
  std::vector<std::int64_t> numbers_;  // after Relate
  std::vector<std::vector<std::uint32_t>> nodes_of_form_;
  std::uint64_t bytes_ = 0, file_bytes_ = 0;
};

// What the next form and number will be, as far as the reference and the rank so far let on.
class RankPrediction {
 public:
  explicit RankPrediction(const ReferenceRank& reference);
  // A form beyond those of the reference has a number from its count up.
  [[nodiscard]] std::uint32_t Form() const;
  void TookForm(std::uint32_t form, std::size_t numbers);
  // Of the place in the form that was taken last.
  [[nodiscard]] std::int64_t Number(NumberKind kind, std::size_t place) const;
  void TookNumber(NumberKind kind, std::size_t place, std::int64_t number);

 private:
  struct FormState {
    std::size_t next = 0;            // of NodesOfForm
    std::vector<std::int64_t> last;  // numbers of a form that the reference lacks
  };
  struct KindState {
    std::int64_t drift = 0, last = 0;
    std::unordered_map<std::int64_t, std::int64_t> meant;  // reference's number → the rank's
  };

  const ReferenceRank& reference_;
  std::vector<FormState> forms_;
  std::array<KindState, kNumberKinds> kinds_;
  std::vector<bool> used_;              // nodes of the reference
  std::uint32_t next_ = 0;              // node of the reference that should follow
  std::uint32_t furthest_ = 0;          // behind the last one that was used
  const std::int64_t* like_ = nullptr;  // numbers of the reference's node; none: a form of its own
  FormState* form_ = nullptr;
};

// Takes a rank's messages and gives its record.
class RankEncoder {
 public:
  explicit RankEncoder(std::shared_ptr<const ReferenceRank> reference);
  void Add(std::string_view message);
  // `header`: the file's first message. `hash`: of the file.
  [[nodiscard]] std::string Finish(std::string_view header, std::string_view hash) const;

 private:
  std::shared_ptr<const ReferenceRank> reference_;
  RankPrediction prediction_;
  NumberRelations relations_;
  FormTable own_;  // forms that the reference lacks
  std::vector<std::string> own_keys_;
  std::uint64_t nodes_ = 0;
  std::array<WireBuffer, kNumberKinds> columns_;
  std::string key_;
  std::vector<std::int64_t> numbers_;
};

// The other way round. Every function is false where the record is damaged.
class RankDecoder {
 public:
  // `record` is kept.
  RankDecoder(std::shared_ptr<const ReferenceRank> reference, std::string record);
  [[nodiscard]] bool Start();
  [[nodiscard]] std::string_view header() const { return header_; }
  [[nodiscard]] std::string_view hash() const { return hash_; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  [[nodiscard]] bool AtEnd() const { return given_ == nodes_; }
  // The view is valid until the next call.
  [[nodiscard]] bool Next(std::string_view& message);
  // After the last message: whether nothing is left over.
  [[nodiscard]] bool Complete() const;

 private:
  [[nodiscard]] bool Difference(NumberKind kind, std::int64_t& value);

  std::shared_ptr<const ReferenceRank> reference_;
  std::string record_;
  RankPrediction prediction_;
  NumberRelations relations_;
  FormTable own_;
  std::string_view header_, hash_;
  std::uint64_t nodes_ = 0, given_ = 0;
  std::vector<WireCursor> columns_;
  std::vector<std::int64_t> numbers_;
  std::string buffer_;
};

}  // namespace reprise
