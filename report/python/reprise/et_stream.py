"""The stream of messages of an .et file: plain, gzip or zstd, told from its content."""
import importlib.resources
import io
import gzip
import zlib

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

LONGEST_MESSAGE = 256 << 20
# Everything that a damaged or cut file makes its readers raise.
DAMAGE = (EOFError, OSError, ValueError, zlib.error, message.DecodeError)


def _classes():
    """GlobalMetadata and Node, made from et_def.proto's descriptor: code that protoc generates works
    with some versions of protobuf only. The pool is our own: others may have loaded Chakra's file."""
    files = descriptor_pb2.FileDescriptorSet.FromString(
        importlib.resources.files("reprise").joinpath("et_def.binpb").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    named = [pool.FindMessageTypeByName(f"ChakraProtoMsg.{name}") for name in ("GlobalMetadata", "Node")]
    if hasattr(message_factory, "GetMessageClass"):  # protobuf 4.22
        return [message_factory.GetMessageClass(descriptor) for descriptor in named]
    factory = message_factory.MessageFactory(pool)
    return [factory.GetPrototype(descriptor) for descriptor in named]


GlobalMetadata, NodeMessage = _classes()


def open_stream(path):
    """The uncompressed content. ImportError, with what to install, for zstd without its module."""
    file = open(path, "rb")
    magic = file.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        file.close()
        return gzip.open(path)
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_Zstd(file), 1 << 20)
    return file


class _Zstd(io.RawIOBase):
    """Frames one after the other. zstandard's own reader ends a cut stream as if it were whole."""

    def __init__(self, file):
        import zstandard  # only where it is needed  pylint: disable=import-outside-toplevel
        super().__init__()
        self._file, self._error = file, zstandard.ZstdError
        self._new_frame = zstandard.ZstdDecompressor().decompressobj
        self._frame, self._pending = None, b""

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._pending:
            packed = self._file.read(1 << 17)
            if not packed:
                if self._frame is not None:
                    raise EOFError("cut within a zstd frame")
                return 0
            self._pending = self._unpack(packed)
        count = min(len(buffer), len(self._pending))
        buffer[:count] = self._pending[:count]
        self._pending = self._pending[count:]
        return count

    def _unpack(self, packed):
        unpacked = b""
        try:
            while packed:
                self._frame = self._frame or self._new_frame()
                unpacked += self._frame.decompress(packed)
                if not self._frame.eof:
                    break
                packed, self._frame = self._frame.unused_data, None
        except self._error as error:
            raise ValueError(str(error)) from error
        return unpacked

    def close(self):
        self._file.close()
        super().close()


def read_length(stream):
    """The varint before a message; None at the end of the stream."""
    length = shift = 0
    while True:
        byte = stream.read(1)
        if not byte:
            if shift:
                raise EOFError("cut within the length of a message")
            return None
        length |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            break
        shift += 7
        if shift > 63:
            raise ValueError("no length of a message")
    if length > LONGEST_MESSAGE:
        raise ValueError(f"a message of {length} bytes")
    return length


def messages(stream):
    """The GlobalMetadata, then every Node message. Raises one of DAMAGE where the file is damaged."""
    kind = GlobalMetadata
    while (length := read_length(stream)) is not None:
        data = stream.read(length)
        if len(data) < length:
            raise EOFError("cut within a message")
        yield kind.FromString(data)
        kind = NodeMessage
