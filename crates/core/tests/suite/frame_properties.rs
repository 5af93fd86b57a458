//! Properties of the frame codec that hold for any input.

use proptest::collection::vec;
use proptest::prelude::*;
use rocksalt_core::call::{Call, Problem, ProblemKind, Return};
use rocksalt_core::frame::{Answer, Ask, Data, Decoder, Frame, Hello, MAX_FRAME, Message, Stream, encode};
use rocksalt_core::link::AgentKind;
use rocksalt_core::log::{LogLevel, LogRecord};
use rocksalt_core::value::{Map, Value};
use rocksalt_core::{Event, JobId};

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        "-?[1-9][0-9]{19,40}".prop_map(|digits| Value::integer(&digits).expect("they are digits")),
        any::<f64>().prop_map(Value::Float),
        ".{0,20}".prop_map(Value::String),
        vec(any::<u8>(), 0..20).prop_map(Value::Bytes),
    ]
}

fn map_of(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map> {
    vec((scalar(), values), 0..5).prop_map(|pairs| pairs.into_iter().collect())
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![vec(inner.clone(), 0..5).prop_map(Value::List), map_of(inner).prop_map(Value::Map)]
    })
}

fn call() -> impl Strategy<Value = Call> {
    let job = proptest::option::of(any::<u32>().prop_map(|at| JobId::at(u64::from(at))));
    let grains = proptest::option::of(map_of(value()));
    (".{0,12}", vec(value(), 0..3), map_of(value()), job, any::<bool>(), ".{0,9}", map_of(value()), grains).prop_map(
        |(function, args, kwargs, job, stream, target, options, grains)| Call {
            function,
            args,
            kwargs,
            job,
            stream,
            target,
            options,
            grains,
            progress: stream,
            keep: !stream,
            log: stream.then_some(LogLevel::Trace),
        },
    )
}

fn problem() -> impl Strategy<Value = Problem> {
    (".{0,20}", proptest::option::of(".{0,20}"), 0usize..6).prop_map(|(text, hint, kind)| {
        use ProblemKind::*;
        let kind = [UnknownFunction, Arguments, Failed, Cancelled, TimedOut, Refused][kind];
        Problem { kind, text, hint, misfit: None }
    })
}

fn ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        (".{0,9}", ".{0,9}").prop_map(|(path, saltenv)| Ask::File { path, saltenv }),
        (".{0,9}", ".{0,9}").prop_map(|(saltenv, prefix)| Ask::ListFiles { saltenv, prefix }),
        (map_of(value()), ".{0,9}", ".{0,9}", map_of(value()))
            .prop_map(|(grains, saltenv, pillarenv, given)| Ask::Pillar { grains, saltenv, pillarenv, given }),
        (any::<u32>(), map_of(value())).prop_map(|(number, pillar)| Ask::ExternalPillar { number, pillar }),
        (".{0,9}", ".{0,9}").prop_map(|(target, step)| Ask::Outputs { target, step }),
        Just(Ask::Tree),
        (".{0,9}", vec(".{0,9}", 0..3)).prop_map(|(saltenv, paths)| Ask::Files { saltenv, paths }),
        (".{0,9}", ".{0,9}").prop_map(|(path, saltenv)| Ask::HashFile { path, saltenv }),
        (".{0,9}", any::<u64>()).prop_map(|(path, size)| Ask::Push { path, size }),
        ".{0,9}".prop_map(|url| Ask::Url { url }),
        (".{0,9}", ".{0,9}", call(), any::<u32>()).prop_map(|(target, target_type, call, timeout)| Ask::Publish {
            target,
            target_type,
            call: Box::new(call),
            timeout
        }),
        (".{0,9}", map_of(value())).prop_map(|(tag, data)| Ask::Event(Event { tag, data })),
        (".{0,9}", proptest::option::of(".{0,9}")).prop_map(|(text, hint)| Ask::Warning { text, hint }),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        (any::<u32>(), ".{0,9}", any::<u32>(), any::<bool>()).prop_map(|(protocol, version, pid, whole)| {
            let agent_kind = if whole { AgentKind::Whole } else { AgentKind::Small };
            Message::Hello(Hello { protocol, version, pid, agent_kind })
        }),
        call().prop_map(|call| Message::Call(Box::new(call))),
        Just(Message::Cancel),
        (value(), any::<i32>(), proptest::option::of(problem()))
            .prop_map(|(value, retcode, problem)| Message::Return(Box::new(Return { value, retcode, problem }))),
        (vec(any::<u8>(), 0..200), 0usize..3).prop_map(|(bytes, stream)| {
            Message::Data(Data { stream: [Stream::Stdout, Stream::Stderr, Stream::File][stream], bytes })
        }),
        any::<u32>().prop_map(Message::Credit),
        (any::<u32>(), ask()).prop_map(|(parent, ask)| Message::Ask(parent, ask)),
        value().prop_map(|value| Message::Answer(Answer::Ok(value))),
        problem().prop_map(|problem| Message::Answer(Answer::Problem(problem))),
        Just(Message::Ping),
        Just(Message::Pong),
        any::<bool>().prop_map(|wipe| Message::Bye { wipe }),
        (any::<u32>(), ".*").prop_map(|(time, target)| Message::Stored { job: JobId::at(time.into()), target }),
        Just(Message::Kill),
        Just(Message::Abandon),
        (".{0,9}", ".{0,99}")
            .prop_map(|(module, text)| { Message::Log(LogRecord { level: LogLevel::Debug, module, text }) }),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    (any::<u32>(), message()).prop_map(|(id, message)| Frame::new(id, message))
}

fn bytes_of(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        encode(frame, &mut bytes).expect("it is small");
    }
    bytes
}

fn all(decoder: &mut Decoder) -> Vec<Frame> {
    std::iter::from_fn(|| decoder.next_frame().expect("the bytes are a frame's")).collect()
}

proptest! {
    #[test]
    fn frames_survive_every_split(frames in vec(frame(), 1..4)) {
        let bytes = bytes_of(&frames);
        for at in 0..=bytes.len() {
            let mut decoder = Decoder::new();
            decoder.push(&bytes[..at]);
            let mut got = all(&mut decoder);
            decoder.push(&bytes[at..]);
            got.append(&mut all(&mut decoder));
            prop_assert_eq!(&got, &frames, "split at {}", at);
        }
    }

    #[test]
    fn frames_survive_byte_by_byte(frames in vec(frame(), 1..4)) {
        let mut decoder = Decoder::new();
        let mut got = Vec::new();
        for byte in bytes_of(&frames) {
            decoder.push(&[byte]);
            got.append(&mut all(&mut decoder));
        }
        prop_assert_eq!(got, frames);
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..300)) {
        let mut decoder = Decoder::new();
        decoder.push(&bytes);
        while let Ok(Some(_)) = decoder.next_frame() {}
    }

    /// A flipped byte yields another message or an error, never a panic; whatever decodes can be encoded again.
    #[test]
    fn a_damaged_frame_is_survived(frame in frame(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = bytes_of(&[frame]);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let mut decoder = Decoder::new();
        decoder.push(&bytes);
        while let Ok(Some(frame)) = decoder.next_frame() {
            prop_assert!(encode(&frame, &mut Vec::new()).is_ok());
            if let Message::Call(call) = frame.message
                && let Call { job: Some(job), .. } = *call
            {
                prop_assert!(job.as_str().bytes().all(|b| b.is_ascii_digit()));
                prop_assert!(!job.start_time().is_empty());
            }
        }
    }
}

#[test]
fn a_claimed_length_takes_no_memory() {
    // Nested lists, each of which claims to have four billion members.
    let mut body = vec![0x82, 0x07, 0x81, 0x82, 0x00, 0x81];
    for _ in 0..100 {
        body.extend([0x9a, 0xff, 0xff, 0xff, 0xff]);
    }
    let mut bytes = ((body.len() + 4) as u32).to_be_bytes().to_vec();
    bytes.extend([0, 0, 0, 1]);
    bytes.extend(body);
    let mut decoder = Decoder::new();
    decoder.push(&bytes);
    assert!(decoder.next_frame().is_err());
}

#[test]
fn sizes_beyond_the_limit_are_refused_at_once() {
    for length in [0u32, 3, MAX_FRAME as u32 + 1, u32::MAX] {
        let mut decoder = Decoder::new();
        decoder.push(&length.to_be_bytes());
        decoder.push(&[0; 4]);
        assert!(decoder.next_frame().is_err(), "{length}");
    }
    let large = Frame::new(1, Message::Data(Data { stream: Stream::File, bytes: vec![0; MAX_FRAME] }));
    let mut out = vec![7];
    assert!(encode(&large, &mut out).is_err());
    assert_eq!(out, [7]);
}
