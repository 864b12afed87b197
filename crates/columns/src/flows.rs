//! The figures of flows, in columns.

use arrow_array::RecordBatch;
use arrow_array::builder::{Int32Builder, Int64Builder, StringBuilder, TimestampNanosecondBuilder};
use arrow_schema::SchemaRef;
use flow::{Flow, Traffic};

use crate::addresses::AddressTexts;
use crate::batch::{Rows, Shape, columns, counter, time};

/// A flow to be added.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Name of its interface.
    pub interface: &'a str,
}

columns!(Columns {
    first_time: TimestampNanosecondBuilder = Growing,
    last_time: TimestampNanosecondBuilder = Growing,
    interface: StringBuilder = Label,
    protocol: Int32Builder = Repeated,
    initiator: StringBuilder = Repeated,
    initiator_port: Int32Builder = Repeated,
    responder: StringBuilder = Repeated,
    responder_port: Int32Builder = Repeated,
    forward_packets: Int64Builder = Repeated,
    forward_bytes: Int64Builder = Repeated,
    forward_ip_bytes: Int64Builder = Repeated,
    backward_packets: Int64Builder = Repeated,
    backward_bytes: Int64Builder = Repeated,
    backward_ip_bytes: Int64Builder = Repeated,
    end_reason: StringBuilder = Label,
    tcp_state: StringBuilder = Label,
    forward_tcp_flags: Int32Builder = Repeated,
    backward_tcp_flags: Int32Builder = Repeated,
    forward_retransmissions: Int64Builder = Repeated,
    backward_retransmissions: Int64Builder = Repeated,
    forward_out_of_order: Int64Builder = Repeated,
    backward_out_of_order: Int64Builder = Repeated,
    rtt_ns: Int64Builder = Distinct,
    responder_rtt_ns: Int64Builder = Distinct,
});

/// Flows, one a row.
#[derive(Debug, Default)]
pub struct FlowRows {
    columns: Columns,
    texts: AddressTexts,
    rows: usize,
}

impl Rows for FlowRows {
    type Row<'a> = FlowRow<'a>;

    fn schema() -> SchemaRef {
        Columns::schema()
    }

    fn shape(column: &str) -> Shape {
        Columns::shape(column)
    }

    fn add(&mut self, FlowRow { flow, interface }: &FlowRow<'_>) {
        let columns = &mut self.columns;
        self.rows += 1;
        columns.first_time.append_option(time(flow.first_ns));
        columns.last_time.append_option(time(flow.last_ns));
        columns.interface.append_value(interface);
        columns.protocol.append_value(flow.protocol.into());
        let (initiator, responder) = (flow.initiator, flow.responder);
        let text = self.texts.text(initiator.address);
        columns.initiator.append_value(text);
        columns.initiator_port.append_value(initiator.port.into());
        let text = self.texts.text(responder.address);
        columns.responder.append_value(text);
        columns.responder_port.append_value(responder.port.into());
        let Traffic {
            packets,
            bytes,
            ip_bytes,
        } = flow.forward;
        columns.forward_packets.append_value(counter(packets));
        columns.forward_bytes.append_value(counter(bytes));
        columns.forward_ip_bytes.append_value(counter(ip_bytes));
        let Traffic {
            packets,
            bytes,
            ip_bytes,
        } = flow.backward;
        columns.backward_packets.append_value(counter(packets));
        columns.backward_bytes.append_value(counter(bytes));
        columns.backward_ip_bytes.append_value(counter(ip_bytes));
        columns.end_reason.append_value(flow.end.name());
        self.add_tcp(flow);
    }

    fn len(&self) -> usize {
        self.rows
    }

    fn take(&mut self) -> RecordBatch {
        self.rows = 0;
        self.columns.take()
    }
}

impl FlowRows {
    fn add_tcp(&mut self, flow: &Flow) {
        let tcp = flow.tcp.as_ref();
        let columns = &mut self.columns;
        let state = tcp.map(|tcp| tcp.state.name());
        columns.tcp_state.append_option(state);
        let [forward, backward] = tcp.map(|tcp| tcp.flags).map_or([None; 2], |f| f.map(Some));
        columns
            .forward_tcp_flags
            .append_option(forward.map(i32::from));
        columns
            .backward_tcp_flags
            .append_option(backward.map(i32::from));
        let [forward, backward] = tcp
            .map(|tcp| tcp.retransmissions)
            .map_or([None; 2], |segments| segments.map(Some));
        columns
            .forward_retransmissions
            .append_option(forward.map(i64::from));
        columns
            .backward_retransmissions
            .append_option(backward.map(i64::from));
        let [forward, backward] = tcp
            .map(|tcp| tcp.out_of_order)
            .map_or([None; 2], |segments| segments.map(Some));
        columns
            .forward_out_of_order
            .append_option(forward.map(i64::from));
        columns
            .backward_out_of_order
            .append_option(backward.map(i64::from));
        let rtt = tcp.and_then(|tcp| tcp.rtt_ns).map(counter);
        columns.rtt_ns.append_option(rtt);
        let rtt = tcp.and_then(|tcp| tcp.responder_rtt_ns).map(counter);
        columns.responder_rtt_ns.append_option(rtt);
    }
}
