import { expect } from 'chai';
import { infoFigure, metricSum, mntrFigure } from '../../../bench/services/figures.ts';

describe('the figures that servers count', () => {
  it('are read from the answer of mntr', () => {
    const answer = 'zk_version\t3.8.0\nzk_packets_received\t1234\nzk_packets_received_total\t9\n';
    expect(mntrFigure(answer, 'zk_packets_received')).to.equal(1234);
    expect(mntrFigure(answer, 'zk_bytes_received_count')).to.be.NaN;
  });

  it('are read from the answer of INFO', () => {
    const answer = '# Stats\r\ntotal_connections_received:3\r\ntotal_commands_processed:77\r\n';
    expect(infoFigure(answer, 'total_commands_processed')).to.equal(77);
    expect(infoFigure(answer, 'absent')).to.be.NaN;
  });

  it('are summed over the labels of a metric', () => {
    const answer = [
      '# TYPE messages counter',
      'messages{method="Txn",service="KV"} 12',
      'messages{method="Put",service="KV"} 1e+03',
      'messages_other 5',
      'bytes 2048',
    ].join('\n');
    expect(metricSum(answer, 'messages')).to.equal(1_012);
    expect(metricSum(answer, 'bytes')).to.equal(2_048);
    expect(metricSum(answer, 'absent')).to.equal(0);
  });
});
