// Ranks of folded captures: any bytes as a message, which is what its parts give; as a form, as a
// rank's record, and as changes to a sound record: read or refused, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "et_schema/io.h"
#include "et_schema/rank_columns.h"
#include "tests/fuzz/scratch.h"

namespace reprise {
namespace {

// A class's file of few nodes that have a bit of everything.
std::shared_ptr<const ReferenceRank> MakeReference() {
  const std::string path = (FuzzDirectory("rank_columns_fuzz") / "job.0.et").string();
  auto writer = EtWriter::Create(path, {});
  Node node{};
  node.type = NodeType::kComp;
  for (std::uint64_t i = 1; i < 40; ++i) {
    node.id = 3 * i;
    node.name = i % 3 == 0 ? "aten::mm" : "aten::add";
    node.start_ns = static_cast<std::int64_t>(i) * 5000;
    node.duration_ns = 4000;
    node.delay_ns = static_cast<std::int64_t>(i % 5);
    node.deps = {{.node_id = node.id - 3}};
    node.inputs = {Value{std::int64_t{7}}, Value{std::string("x12")}};
    if (!writer || !(*writer)->Write(node)) {
      std::abort();
    }
  }
  if (!(*writer)->Close()) {
    std::abort();
  }
  auto reference = ReferenceRank::Read(path);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  return reference ? *reference : (std::abort(), nullptr);
}

std::string RecordOf(const std::shared_ptr<const ReferenceRank>& reference) {
  RankEncoder encoder(reference);
  std::string buffer;
  for (std::uint32_t node = 0; node < reference->nodes(); ++node) {
    const MessageForm& form = reference->forms().at(reference->FormOf(node));
    encoder.Add(form.Join(reference->NumbersOf(node), buffer));
  }
  return encoder.Finish(reference->header(), "hash");
}

void Decode(const std::shared_ptr<const ReferenceRank>& reference, std::string record) {
  RankDecoder decoder(reference, std::move(record));
  if (!decoder.Start()) {
    return;
  }
  std::string_view message;
  std::uint64_t bytes = 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;  // as a budget does
  while (!decoder.AtEnd() && bytes < kMost && decoder.Next(message)) {
    bytes += message.size();
  }
  static_cast<void>(decoder.Complete());
}

void TakeApart(std::string_view message) {
  std::string key;
  std::vector<std::int64_t> numbers;
  SplitMessage(message, key, numbers);
  MessageForm form;
  std::string buffer;
  if (!MessageForm::Parse(key, form) || form.kinds().size() != numbers.size() ||
      form.Join(numbers.data(), buffer) != message) {
    std::abort();
  }
}

}  // namespace
}  // namespace reprise

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto reference = reprise::MakeReference();
  static const std::string good = reprise::RecordOf(reference);
  if (size == 0) {
    return 0;
  }
  std::string rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      reprise::TakeApart(rest);
      break;
    case 1: {
      reprise::MessageForm form;
      if (reprise::MessageForm::Parse(std::move(rest), form)) {
        const std::vector<std::int64_t> numbers(form.kinds().size(), -1);
        std::string buffer;
        static_cast<void>(form.Join(numbers.data(), buffer));
      }
      break;
    }
    case 2:
      reprise::Decode(reference, std::move(rest));
      break;
    default: {
      std::string record = good;
      for (std::size_t i = 0; i + 2 < rest.size(); i += 3) {  // place, byte
        const std::size_t place = static_cast<std::uint8_t>(rest[i]) * std::size_t{256} +
                                  static_cast<std::uint8_t>(rest[i + 1]);
        record[place % record.size()] = rest[i + 2];
      }
      reprise::Decode(reference, std::move(record));
    }
  }
  return 0;
}
