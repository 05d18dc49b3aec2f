// The reader of what PyTorch's observer writes against simdjson's: the same, or it gives up.
#include "converters/pytorch/host/plain_nodes.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "converters/plain_json.h"
#include "converters/text_file.h"
#include "same_nodes.h"

namespace reprise::pytorch {
namespace {

namespace fs = std::filesystem;

struct Read {
  bool given_up = false;
  std::vector<HostNode> nodes;
  std::vector<std::uint8_t> oddities;
};

class PlainNodesTest : public ::testing::Test {
 protected:
  Read Plain(const std::string& array) {
    Read out;
    const JsonBatch batch{TextFile::FromText("host", array), true};
    out.given_up = !plain_.Read(batch, strings_, out.nodes, out.oddities);
    return out;
  }
  // Given up where simdjson does not read it either.
  Read BySimdjson(const std::string& array) {
    Read out;
    const JsonBatch batch{TextFile::FromText("host", array), true};
    simdjson::dom::parser parser;
    out.given_up = !VisitElements(
        batch, parser, [&](simdjson::dom::element root, std::size_t, ElementPlaces&, bool) {
          return ReadHostNode(root, batch.text, 0, strings_, out.nodes.emplace_back(),
                              out.oddities.emplace_back());
        });
    return out;
  }
  void ExpectSame(const std::string& array) {
    const Read ours = Plain(array);
    const Read theirs = BySimdjson(array);
    ASSERT_FALSE(ours.given_up) << array.substr(0, 500);
    ASSERT_FALSE(theirs.given_up) << array.substr(0, 500);
    EXPECT_EQ(ours.oddities, theirs.oddities);
    ASSERT_EQ(ours.nodes.size(), theirs.nodes.size());
    for (std::size_t i = 0; i < ours.nodes.size(); ++i) {
      EXPECT_TRUE(Same(ours.nodes[i], theirs.nodes[i])) << "node " << ours.nodes[i].id;
    }
  }

  StringPool pool_;
  BatchStrings strings_{pool_};
  PlainNodes plain_;
};

std::string NodeText(const std::string& values, const std::string& shapes, const std::string& types,
                     const std::string& more = "") {
  return fmt::format(
      R"({{"id": 7, "name": "aten::mm", "ctrl_deps": 3, {} "inputs": {{"values": {}, "shapes": {},
       "types": {}, "strides": {}}}, "outputs": {{"values": [], "shapes": [], "types": []}},
       "attrs": [{{"name": "rf_id", "type": "uint64", "value": 9}},
                 {{"name": "tid", "type": "uint64", "value": 2}},
                 {{"name": "op_schema", "type": "string", "value": "aten::mm(str a=\"x\\y\") -> T"}}]}})",
      more, values, shapes, types, shapes);
}

std::string NodeOf(const std::string& value, const std::string& more = "") {
  return "[" + NodeText("[" + value + "]", "[[]]", R"(["Double"])", more) + "]";
}

TEST_F(PlainNodesTest, ReadsWhatSimdjsonReads) {
  for (const char* value : {"0",
                            "-0",
                            "-1",
                            "12345678",
                            "123456789",
                            "9223372036854775807",
                            "-9223372036854775808",
                            "1.5",
                            "-0.0",
                            "1e-05",
                            "2E+3",
                            "1.7976931348623157e308",
                            "0.1",
                            "12345678901234567890.5",
                            "true",
                            "false",
                            "null",
                            "[]",
                            "[[1, [2]], -3]",
                            "\"<None>\"",
                            "\"a\\\"b\\\\c\\n\"",
                            "\"-inf\"",
                            "\"nan\"",
                            "\"\xc3\xa4\"",
                            "[1,2,0,3,4,\"cpu\"]",
                            "[1,2,0,3,4]"}) {
    ExpectSame(NodeOf(value));
  }
  const std::string tensor =
      NodeText("[[1,2,0,6,4,\"cpu\"],[[5,6,1,2,8,\"cuda:0\"],7]]", "[[2,3],[[2],[]]]",
               R"-(["Tensor(float)","GenericList[Tensor(long int),Int]"])-");
  // The second one has its lists from the first, the third has not.
  const std::string other = NodeText("[[1,2,0,6,4,\"cpu\"]]", "[[3,2]]", R"-(["Tensor(float)"])-");
  ExpectSame("[" + tensor + ",\n" + tensor + " , " + other + "]");
  ExpectSame("[" + other + "," + tensor + "]");
  ExpectSame("[]");
}

TEST_F(PlainNodesTest, ListsThatAreMissingOrDiffer) {
  ExpectSame("[" + NodeText("[1,2]", "[[]]", R"(["Int"])") + "]");
  ExpectSame("[" + NodeText("3", "null", "4") + "]");
  ExpectSame(
      R"([{"id":1,"name":"n","ctrl_deps":0,"inputs":{},"outputs":{"types":[],"values":[1]},
           "attrs":[]}])");
  ExpectSame(
      R"([{"attrs":[{"value":"x","name":"tid"},{"type":"t","value":4,"name":"rf_id"},
                    {"name":"pg_name","type":"string","value":"0"}],
           "inputs":{"values":[]},"outputs":{"values":[]},"ctrl_deps":0,"name":"n","id":1}])");
}

// Whatever simdjson makes of them.
TEST_F(PlainNodesTest, GivesUp) {
  for (const char* value : {"NaN",
                            "-inf",
                            "Infinity",
                            "01",
                            "+1",
                            ".5",
                            "1.",
                            "1e",
                            "--1",
                            "-",
                            "0x1",
                            "9223372036854775808",
                            "18446744073709551615",
                            "-9223372036854775809",
                            "1e999",
                            "tru",
                            "nullx",
                            "{}",
                            "\"\\u0041\"",
                            "\"\\q\"",
                            "\"a\nb\"",
                            "\"\xff\"",
                            "\"open",
                            "[1,]",
                            "[,1]",
                            "[1 2]",
                            "1,",
                            "]",
                            "[",
                            "\"a\" \"b\""}) {
    EXPECT_TRUE(Plain(NodeOf(value)).given_up) << value;
  }
  const std::string good = NodeOf("1");
  EXPECT_FALSE(Plain(good).given_up);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(Plain(good.substr(0, size)).given_up) << size;
  }
  EXPECT_TRUE(Plain(good + "]").given_up);
  EXPECT_TRUE(Plain(std::string(100, '[') + std::string(100, ']')).given_up);
  for (const char* more : {"\"id\": 8,", "\"name\": \"b\",", "\"parent\": 4,", "\"x\": {},",
                           "\"attrs\": [],", "\"inputs\": {\"values\": []},"}) {
    EXPECT_TRUE(Plain(NodeOf("1", more)).given_up) << more;
  }
  EXPECT_FALSE(Plain(NodeOf("1", "\"x\": [1],")).given_up);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"id\": 7", "\"id\": -7"},
           {"\"id\": 7", "\"id\": 4611686018427387904"},
           {"\"id\": 7", "\"id\": 7.0"},
           {"\"ctrl_deps\": 3,", ""},
           {"\"name\": \"aten::mm\"", "\"name\": 4"},
           {"\"attrs\": [", "\"attrs\": [4, "},
           {"\"name\": \"tid\"", "\"nam\": \"tid\""}}) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    EXPECT_TRUE(Plain(text).given_up) << to;
  }
}

// All that is bundled: the observer's own text, none of it given up on.
TEST_F(PlainNodesTest, RealCaptures) {
  std::size_t files = 0;
  for (const auto& entry :
       fs::recursive_directory_iterator(std::string(REPRISE_SOURCE_DIR) + "/traces")) {
    const std::string path = entry.path().string();
    if (!path.ends_with("rank0.et.json.gz")) {
      continue;
    }
    const auto file = TextFile::Read(path);
    ASSERT_TRUE(file) << file.error().message;
    const auto json = SplitObject(*file, "nodes");
    ASSERT_TRUE(json);
    ASSERT_FALSE(json->elements.empty());
    const char* const first = json->elements.front().data();
    const char* const last = json->elements.back().data() + json->elements.back().size();
    ExpectSame("[" + std::string(first, last) + "]");
    ++files;
  }
  EXPECT_GT(files, 0U);
}

}  // namespace
}  // namespace reprise::pytorch
