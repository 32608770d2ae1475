"""Word-level classifiers: GRU, LSTM, QGRU, QLSTM, CNN."""
